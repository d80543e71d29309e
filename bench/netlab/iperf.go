package netlab

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// server is a running iperf3 server.
type server struct {
	cmd  *exec.Cmd
	done chan struct{}
}

func (s *server) stop() {
	_ = s.cmd.Process.Kill() // an error means that it has ended
	<-s.done
}

// Serve runs an iperf3 server on the host until the lab is closed. It returns when the server listens.
func (l *Lab) Serve(ctx context.Context, h *Host, port int) error {
	cmd := exec.Command("iperf3", "-s", "-4", "--forceflush", "-p", strconv.Itoa(port))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	var failure bytes.Buffer
	cmd.Stderr = &failure
	if err := h.NS.Start(cmd); err != nil {
		return fmt.Errorf("iperf3 server: %w", err)
	}
	s := &server{cmd: cmd, done: make(chan struct{})}
	listening := make(chan struct{})
	go func() {
		defer close(s.done)
		told := false
		for lines := bufio.NewScanner(out); lines.Scan(); { // to the end: a full pipe would block it
			if !told && strings.Contains(lines.Text(), "Server listening") {
				told = true
				close(listening)
			}
		}
		_ = cmd.Wait() // it is killed, or its error text says why it ended
	}()
	select {
	case <-listening:
		l.servers = append(l.servers, s)
		return nil
	case <-s.done:
		return fmt.Errorf("iperf3 server on port %d: %s", port, strings.TrimSpace(failure.String()))
	case <-ctx.Done():
		s.stop()
		return ctx.Err()
	case <-time.After(10 * time.Second):
		s.stop()
		return fmt.Errorf("iperf3 server on port %d: it does not listen after 10 s", port)
	}
}

// Result is what iperf3 says of one test.
type Result struct {
	BitsPerSecond float64 // of payload, as the receiver saw it
	Retransmits   int
	CPU           float64 // of both ends, in parts of one processor
}

// TCP sends to an iperf3 server for a whole number of seconds, one at least, over one connection.
func (h *Host) TCP(ctx context.Context, to *Host, port int, span time.Duration) (Result, error) {
	seconds := max(1, int((span+time.Second-1)/time.Second))
	return h.iperf(ctx, to, port, time.Duration(seconds)*time.Second, "-t", strconv.Itoa(seconds))
}

// Warm sends a few megabytes: addresses get resolved and caches filled.
func (h *Host) Warm(ctx context.Context, to *Host, port int) error {
	_, err := h.iperf(ctx, to, port, 0, "-n", "4M")
	return err
}

// patience is how much longer than its span a test may take, for a lost handshake or a hung server must not stop
// the benchmark.
const patience = 8 * time.Second

func (h *Host) iperf(ctx context.Context, to *Host, port int, span time.Duration, amount ...string) (Result, error) {
	limited, cancel := context.WithTimeout(ctx, span+patience)
	defer cancel()
	args := []string{"-c", to.Addr.Addr().String(), "-p", strconv.Itoa(port), "-J", "--connect-timeout", "1500"}
	if cubicIsThere() {
		args = append(args, "-C", "cubic")
	}
	cmd := exec.CommandContext(limited, "iperf3", append(args, amount...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var out, failure bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &failure
	if err := h.NS.Start(cmd); err != nil {
		return Result{}, fmt.Errorf("iperf3: %w", err)
	}
	err := cmd.Wait()
	if ctx.Err() != nil {
		return Result{}, ctx.Err()
	}
	if limited.Err() != nil {
		return Result{}, fmt.Errorf("iperf3: it did not end within %s", span+patience)
	}
	r, perr := parseIperf(out.Bytes())
	if perr != nil {
		if err != nil && out.Len() == 0 {
			perr = fmt.Errorf("%w: %s", err, strings.TrimSpace(failure.String()))
		}
		return Result{}, fmt.Errorf("iperf3: %w", perr)
	}
	return r, nil
}

// cubicIsThere tells whether the kernel has the congestion control that tests run with. The system's own choice may
// be BBR, which paces by what it measures: on a link without a rate it measures the scheduler.
func cubicIsThere() bool {
	list, err := os.ReadFile("/proc/sys/net/ipv4/tcp_available_congestion_control")
	return err == nil && slices.Contains(strings.Fields(string(list)), "cubic")
}

// parseIperf reads what `iperf3 -c … -J` prints after a TCP test.
func parseIperf(text []byte) (Result, error) {
	var v struct {
		Error string `json:"error"`
		End   struct {
			Sent *struct {
				Retransmits int `json:"retransmits"`
			} `json:"sum_sent"`
			Received *struct {
				BitsPerSecond float64 `json:"bits_per_second"`
			} `json:"sum_received"`
			CPU struct {
				Host   float64 `json:"host_total"`
				Remote float64 `json:"remote_total"`
			} `json:"cpu_utilization_percent"`
		} `json:"end"`
	}
	if err := json.Unmarshal(text, &v); err != nil {
		return Result{}, fmt.Errorf("output is not JSON: %w", err)
	}
	if v.Error != "" {
		return Result{}, errors.New(v.Error)
	}
	if v.End.Received == nil || v.End.Sent == nil {
		return Result{}, errors.New("output has no sums: the test did not end")
	}
	if v.End.Received.BitsPerSecond <= 0 {
		return Result{}, errors.New("nothing was received")
	}
	return Result{
		BitsPerSecond: v.End.Received.BitsPerSecond,
		Retransmits:   v.End.Sent.Retransmits,
		CPU:           (v.End.CPU.Host + v.End.CPU.Remote) / 100,
	}, nil
}
