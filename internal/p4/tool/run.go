package tool

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/catena-nfv/catena/internal/p4/interp"
	"github.com/catena-nfv/catena/internal/p4/stf"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// RunOptions say what packets to run a program on.
type RunOptions struct {
	In, Out string // captures; Out may be empty
	Entries string // an STF script with table entries, or empty
	Port    uint32 // where the packets arrive, unless the capture tells
	// PortsOfCapture takes a packet's interface in the capture (pcapng) for its
	// port: the first interface is port 1.
	PortsOfCapture bool
	Trace, JSON    bool
}

// RunReport counts what happened.
type RunReport struct {
	Received int `json:"received"`
	Sent     int `json:"sent"`
	Dropped  int `json:"dropped"` // packets that gave no other
	Digests  int `json:"digests"`
}

// capture reads packets from a pcap or pcapng file.
type capture interface {
	ReadPacketData() ([]byte, gopacket.CaptureInfo, error)
}

// openCapture tells the two formats apart by their first bytes.
func openCapture(r io.Reader) (capture, error) {
	b := bufio.NewReader(r)
	magic, err := b.Peek(4)
	if err != nil {
		return nil, errors.New("the capture is empty or too short")
	}
	if bytes.Equal(magic, []byte{0x0a, 0x0d, 0x0d, 0x0a}) {
		return pcapgo.NewNgReader(b, pcapgo.NgReaderOptions{WantMixedLinkType: true})
	}
	return pcapgo.NewReader(b)
}

// Run sends a capture through the interpreter and writes what comes out to another.
// Time is that of the capture. A line for each packet goes to w, and the trace.
func Run(c *Compiled, o RunOptions, w io.Writer) (report RunReport, err error) {
	in, err := os.Open(o.In)
	if err != nil {
		return report, err
	}
	defer in.Close()
	packets, err := openCapture(in)
	if err != nil {
		return report, fmt.Errorf("%s: %w", o.In, err)
	}
	var now time.Duration
	opts := interp.Options{Now: func() time.Duration { return now }}
	if o.Trace {
		opts.Tracer = &Tracer{W: w, Position: c.Position, JSON: o.JSON}
	}
	sw, err := Interpreter(c, opts, w)
	if err != nil {
		return report, err
	}
	if err := configure(c, o.Entries, sw); err != nil {
		return report, err
	}
	out, err := createCapture(o.Out)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, out.close()) }()
	var first time.Time
	for {
		data, ci, err := packets.ReadPacketData()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return report, fmt.Errorf("%s: packet %d: %w", o.In, report.Received+1, err)
		}
		if first.IsZero() {
			first = ci.Timestamp
		}
		now = ci.Timestamp.Sub(first)
		port := o.Port
		if o.PortsOfCapture {
			port = uint32(ci.InterfaceIndex + 1)
		}
		report.Received++
		sent, err := sw.Inject(target.Packet{Port: port, Data: data})
		if err != nil {
			return report, fmt.Errorf("%s: packet %d: %w", o.In, report.Received, err)
		}
		report.Sent += len(sent)
		if len(sent) == 0 {
			report.Dropped++
		}
		if !o.JSON {
			describePacket(w, report.Received, port, data, sent)
		}
		for _, p := range sent {
			if err := out.write(p, ci.Timestamp); err != nil {
				return report, fmt.Errorf("%s: %w", o.Out, err)
			}
		}
	}
	report.Digests = len(sw.Digests())
	return report, nil
}

func configure(c *Compiled, path string, sw target.Switch) error {
	if path == "" {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	s, err := stf.Parse(path, string(text))
	if err != nil {
		return err
	}
	return stf.Configure(s, c.Program, sw)
}

func describePacket(w io.Writer, n int, port uint32, data []byte, sent []target.Packet) {
	to := "dropped"
	if len(sent) > 0 {
		parts := make([]string, len(sent))
		for i, p := range sent {
			parts[i] = fmt.Sprintf("port %d (%d bytes)", p.Port, len(p.Data))
		}
		to = strings.Join(parts, ", ")
	}
	fmt.Fprintf(w, "packet %d: port %d (%d bytes) -> %s\n", n, port, len(data), to)
}

// captureWriter writes packets to a pcapng file with one interface for each port.
// Without a file it writes nothing.
type captureWriter struct {
	file  *os.File
	ng    *pcapgo.NgWriter
	ports map[uint32]int
}

func createCapture(path string) (*captureWriter, error) {
	if path == "" {
		return &captureWriter{}, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	return &captureWriter{file: f, ports: map[uint32]int{}}, nil
}

// interfaceOf returns the interface of a port, which is made when the port is first
// used. The file has nothing in it that differs from machine to machine.
func (w *captureWriter) interfaceOf(port uint32) (int, error) {
	if id, ok := w.ports[port]; ok {
		return id, nil
	}
	intf := pcapgo.NgInterface{Name: fmt.Sprintf("port %d", port), LinkType: layers.LinkTypeEthernet, TimestampResolution: 9}
	id := 0
	var err error
	if w.ng == nil {
		w.ng, err = pcapgo.NewNgWriterInterface(w.file, intf, pcapgo.NgWriterOptions{
			SectionInfo: pcapgo.NgSectionInfo{Application: "catena"}})
	} else {
		id, err = w.ng.AddInterface(intf)
	}
	w.ports[port] = id
	return id, err
}

func (w *captureWriter) write(p target.Packet, at time.Time) error {
	if w.file == nil {
		return nil
	}
	id, err := w.interfaceOf(p.Port)
	if err != nil {
		return err
	}
	return w.ng.WritePacket(gopacket.CaptureInfo{
		Timestamp: at, CaptureLength: len(p.Data), Length: len(p.Data), InterfaceIndex: id}, p.Data)
}

// close completes the file. One without packets still is a capture.
func (w *captureWriter) close() error {
	if w.file == nil {
		return nil
	}
	var err error
	if w.ng == nil {
		_, err = w.interfaceOf(0)
	}
	if err == nil {
		err = w.ng.Flush()
	}
	return errors.Join(err, w.file.Close())
}

// WriteJSON prints the report.
func (r RunReport) WriteJSON(w io.Writer) error { return writeJSON(w, r) }
