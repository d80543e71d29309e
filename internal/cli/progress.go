package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	catenav1 "github.com/catena-nfv/catena/api/catena/v1"
)

// progress shows events as they come: on a terminal one line an object that
// changes in place, elsewhere one line an event.
type progress struct {
	w        io.Writer
	terminal bool
	width    int
	order    []string
	lines    map[string]string
	drawn    int
	started  time.Time
}

func newProgress(w io.Writer) *progress {
	p := &progress{w: w, lines: map[string]string{}, started: time.Now(), width: 100}
	if f, ok := w.(*os.File); ok {
		size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
		if err == nil && size.Col > 0 {
			p.terminal, p.width = true, int(size.Col)
		}
	}
	return p
}

// statusWord is a state in the words of the field: OpenStack's for what is made.
func statusWord(s catenav1.Object_Status) string {
	switch s {
	case catenav1.Object_ACTIVE, catenav1.Object_ERROR:
		return s.String()
	}
	return strings.ToLower(s.String())
}

func colour(s catenav1.Object_Status) string {
	switch s {
	case catenav1.Object_ACTIVE:
		return "\x1b[32m"
	case catenav1.Object_ERROR:
		return "\x1b[31m"
	case catenav1.Object_DELETED:
		return "\x1b[2m"
	}
	return "\x1b[33m"
}

// event shows one event.
func (p *progress) event(e *catenav1.Event) {
	at := time.Since(p.started)
	took := ""
	if d := e.GetElapsed(); d != nil && d.AsDuration() > 0 {
		took = duration(d.AsDuration())
	}
	// A stage is a line of its own: the times of all stages stay visible.
	key := e.GetKind() + " " + e.GetName()
	what := statusWord(e.GetStatus())
	note := e.GetMessage()
	if took != "" && e.GetStatus() == catenav1.Object_BUILDING && e.GetKind() == "switch" {
		key += " " + e.GetStage()
		what = e.GetStage()
	} else if e.GetStage() != "" && e.GetStatus() == catenav1.Object_BUILDING {
		note = strings.TrimSpace(e.GetStage() + " " + note)
	}
	plain := fmt.Sprintf("%-9s %-22s %-9s %8s  %s", e.GetKind(), e.GetName(), what, took, note)
	if !p.terminal {
		fmt.Fprintf(p.w, "%7.3fs  %s\n", at.Seconds(), strings.TrimRight(plain, " "))
		return
	}
	line := fmt.Sprintf("%-9s %-22s %s%-9s\x1b[0m %8s  %s", e.GetKind(), e.GetName(), colour(e.GetStatus()), what, took, note)
	if len(plain) > p.width-1 {
		line = line[:len(line)-min(len(note), len(plain)-p.width+1)]
	}
	if _, known := p.lines[key]; !known {
		p.order = append(p.order, key)
	}
	p.lines[key] = line
	p.draw()
}

func (p *progress) draw() {
	var b strings.Builder
	if p.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", p.drawn)
	}
	for _, key := range p.order {
		b.WriteString("\r\x1b[K" + p.lines[key] + "\n")
	}
	p.drawn = len(p.order)
	io.WriteString(p.w, b.String())
}

// eventStream is a stream of events, as gRPC gives it.
type eventStream interface {
	Recv() (*catenav1.Event, error)
}

// follow hands every event of a stream to show, until it ends.
func follow(stream eventStream, show func(*catenav1.Event) error) error {
	for {
		e, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := show(e); err != nil {
			return err
		}
	}
}
