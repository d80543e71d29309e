package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/catena-nfv/catena/internal/netns"
)

// process names one process of one boot; a pid alone is used again by the kernel.
type process struct {
	PID   int
	Start uint64 // clock ticks after boot, field 22 of /proc/PID/stat
	Boot  string // /proc/sys/kernel/random/boot_id
}

// stopGrace is how long a process may take to end after SIGTERM.
const stopGrace = 2 * time.Second

// command is a program to run in a namespace.
type command struct {
	Args []string
	Dir  string // working directory: the instance's folder
	Log  string // file that takes standard output and error; an older one becomes Log.1
}

// start runs the command inside ns, detached from this process: in a session of
// its own, with nothing inherited but a small environment that carries marker.
// The channel is closed when the process ends while this driver lives.
func (c command) start(ns *netns.NS, marker string) (*process, <-chan struct{}, error) {
	program, err := findProgram(c.Args[0])
	if err != nil {
		return nil, nil, err
	}
	if err := os.Rename(c.Log, c.Log+".1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, err
	}
	log, err := os.OpenFile(c.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, err
	}
	defer log.Close()
	cmd := &exec.Cmd{
		Path:   program,
		Args:   c.Args,
		Dir:    c.Dir,
		Env:    []string{"PATH=" + searchPath, "LANG=C.UTF-8", "HOME=/", marker},
		Stdout: log,
		Stderr: log,
		// A session of its own: signals of the driver's terminal do not reach it.
		SysProcAttr: &unix.SysProcAttr{Setsid: true},
	}
	if err := ns.Start(cmd); err != nil {
		return nil, nil, fmt.Errorf("start %s: %w", filepath.Base(program), err)
	}
	p, err := identify(cmd.Process.Pid)
	if err != nil {
		// Gone already; Wait below says how it went, the log says why.
		p = &process{PID: cmd.Process.Pid}
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // reap; the outcome is in the log
		close(ended)
	}()
	return p, ended, nil
}

// identify describes the living process pid.
func identify(pid int) (*process, error) {
	start, err := startTime(pid)
	if err != nil {
		return nil, err
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return nil, err
	}
	return &process{PID: pid, Start: start, Boot: strings.TrimSpace(string(boot))}, nil
}

// startTime returns when pid started, in clock ticks after boot, or an error
// when it has ended.
func startTime(pid int) (uint64, error) {
	st, err := readStat(pid)
	return st.start, err
}

// stat is what we need of /proc/PID/stat (proc_pid_stat(5)).
type stat struct {
	session int
	start   uint64
}

// readStat fails when the process has ended (a zombie counts as ended).
func readStat(pid int) (stat, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	// The second field, the name in brackets, may itself contain brackets and
	// spaces; the third is the first one after it.
	end := bytes.LastIndexByte(data, ')')
	fields := strings.Fields(string(data[end+1:]))
	if end < 0 || len(fields) < 20 {
		return stat{}, fmt.Errorf("process %d: cannot read its stat file", pid)
	}
	if state := fields[0]; state == "Z" || state == "X" {
		return stat{}, fmt.Errorf("process %d: %w", pid, os.ErrProcessDone)
	}
	session, err := strconv.Atoi(fields[3])
	if err != nil {
		return stat{}, fmt.Errorf("process %d: session: %w", pid, err)
	}
	start, err := strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		return stat{}, fmt.Errorf("process %d: start time: %w", pid, err)
	}
	return stat{session: session, start: start}, nil
}

// alive tells whether this very process still runs.
func (p *process) alive() bool {
	if p == nil {
		return false
	}
	now, err := identify(p.PID)
	return err == nil && *now == *p
}

// signal sends a signal to this very process.
func (p *process) signal(sig os.Signal) error {
	handle, err := os.FindProcess(p.PID) // holds a pidfd: no other process from here on
	if err != nil {
		return err
	}
	defer handle.Release()
	if !p.alive() {
		return os.ErrProcessDone
	}
	return handle.Signal(sig)
}

// stop ends the process, kindly and then not, and returns when it is gone.
func (p *process) stop() error {
	if !p.alive() {
		return nil
	}
	for _, step := range []struct {
		sig  os.Signal
		wait time.Duration
	}{{unix.SIGTERM, stopGrace}, {unix.SIGKILL, 5 * time.Second}} {
		if err := p.signal(step.sig); errors.Is(err, os.ErrProcessDone) {
			return nil
		} else if err != nil {
			return fmt.Errorf("process %d: %w", p.PID, err)
		}
		deadline := time.Now().Add(step.wait)
		for pause := time.Millisecond; time.Now().Before(deadline); pause = min(2*pause, 20*time.Millisecond) {
			if !p.alive() {
				return nil
			}
			time.Sleep(pause)
		}
	}
	return fmt.Errorf("process %d does not end", p.PID)
}

// everyInstance matches all namespaces of a driver, exactly only the one.
func everyInstance(n names) string { return n.netnsPrefix() }
func exactly(netns string) string  { return netns + "\x00" }

// marked finds the living processes that belong to namespaces of a driver: those
// whose initial environment has CATENA_INSTANCE with a value that begins with
// prefix, and all in the sessions of those. A process cannot lose both.
func marked(prefix string) ([]*process, error) {
	dirs, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	want := []byte("\x00" + markerVariable + "=" + prefix)
	sessions := map[int]bool{}
	ours := map[int]bool{}
	session := map[int]int{}
	for _, d := range dirs {
		pid, err := strconv.Atoi(d.Name())
		if err != nil {
			continue
		}
		st, err := readStat(pid)
		if err != nil {
			continue // ended meanwhile
		}
		session[pid] = st.session
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err == nil && bytes.Contains(append([]byte{0}, env...), want) {
			ours[pid] = true
			// Only a session whose leader is ours: a process that an operator
			// started by hand with our environment is in the operator's session.
			if st.session == pid {
				sessions[pid] = true
			}
		}
	}
	var found []*process
	for pid, sid := range session {
		if !ours[pid] && !sessions[sid] {
			continue
		}
		if p, err := identify(pid); err == nil {
			found = append(found, p)
		}
	}
	return found, nil
}

// stopMarked stops all processes that marked finds, at once.
func stopMarked(prefix string) error {
	found, err := marked(prefix)
	if err != nil {
		return err
	}
	errs := make(chan error, len(found))
	for _, p := range found {
		go func() { errs <- p.stop() }()
	}
	for range found {
		err = errors.Join(err, <-errs)
	}
	return err
}

// searchPath is where programs are looked for: daemons live in sbin, which the
// PATH of an ordinary user lacks.
const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// debianPackage names the package that brings a program.
func debianPackage(program string) string {
	switch program {
	case "nft":
		return "nftables"
	case "dnsmasq":
		return "dnsmasq-base" // the package dnsmasq also starts a service on the host
	case "clang", "haproxy":
		return program
	}
	return ""
}

// findProgram returns the path of a program; a name with a slash is taken as it is.
func findProgram(name string) (string, error) {
	if strings.Contains(name, "/") {
		if _, err := os.Stat(name); err != nil {
			return "", fmt.Errorf("program %q: %w", name, err)
		}
		return name, nil
	}
	for _, dir := range filepath.SplitList(searchPath) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	if pkg := debianPackage(name); pkg != "" {
		return "", fmt.Errorf("program %q is missing: apt-get install %s: %w", name, pkg, fs.ErrNotExist)
	}
	return "", fmt.Errorf("program %q is missing: %w", name, fs.ErrNotExist)
}

// logEnd returns the last lines of a log in one line, for an error's text.
func logEnd(file string) string {
	const lines = 5
	data, err := os.ReadFile(file)
	if err != nil || len(bytes.TrimSpace(data)) == 0 {
		return "its log " + file + " is empty"
	}
	all := strings.Split(strings.TrimSpace(string(data)), "\n")
	return "its log " + file + " ends: " + strings.Join(all[max(0, len(all)-lines):], " | ")
}

// hopelessError is a failure that waiting does not mend.
type hopelessError struct{ error }

func (e *hopelessError) Unwrap() error { return e.error }

// poll calls ready with growing pauses until it succeeds or fails hopelessly, ended
// is closed (nil: never) or the context ends. The last failure is part of the error.
func poll(ctx context.Context, ended <-chan struct{}, ready func(context.Context) error) error {
	var last error
	for pause := 2 * time.Millisecond; ; pause = min(pause*3/2, 50*time.Millisecond) {
		attempt, cancel := context.WithTimeout(ctx, time.Second)
		err := ready(attempt)
		cancel()
		if err == nil {
			return nil
		}
		if hopeless := (*hopelessError)(nil); errors.As(err, &hopeless) {
			return err
		}
		last = err
		select {
		case <-ended:
			return errors.New("its program ended")
		case <-ctx.Done():
			return fmt.Errorf("it does not answer: %w (%w)", last, ctx.Err())
		case <-time.After(pause):
		}
	}
}
