package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/catena-nfv/catena/internal/p4/interp"
	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4/tool"
)

// P4Command works on P4 programs: `p4 check|build|stf|run|corpus`. The kernel back
// end may be nil: then only the targets without it are there. Files are read from
// sources, which may hold more than this machine's; nil: these alone.
func P4Command(kernel tool.Kernel, sources fs.FS) *cobra.Command {
	cmd := &cobra.Command{
		Use: "p4", Short: "compile, test and run P4 programs",
		Long: `P4 works on v1model programs in files; it needs no controller. check compiles a program
and says what is wrong with it. build writes what a switch and its controller need. stf
runs a packet script on a program, run a packet capture.`,
		Example: `  catena p4 check nf.p4
  catena p4 build nf.p4 -o out
  catena p4 stf nf.p4 nf.stf --target ebpf
  catena p4 run nf.p4 --pcap in.pcap --out out.pcapng --entries rules.stf --trace`,
	}
	cmd.AddCommand(p4Check(sources), p4Build(kernel, sources), p4STF(kernel, sources), p4Run(sources), p4Corpus(kernel), p4Conformance(kernel))
	return cmd
}

// sourceFlags are the flags of all commands that read a program.
type sourceFlags struct {
	source tool.Source
	dump   string
	json   bool
}

func (f *sourceFlags) add(cmd *cobra.Command, sources fs.FS) {
	f.source.FS = sources
	cmd.Flags().StringArrayVarP(&f.source.IncludeDirs, "include", "I", nil, "search `DIR` for included files")
	cmd.Flags().StringArrayVarP(&f.source.Defines, "define", "D", nil, "define a macro, `NAME[=VALUE]`")
	cmd.Flags().StringVar(&f.dump, "dump-after", "", "print the program as P4 after `PASS`: "+strings.Join(tool.Stages(), ", "))
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
}

// compile reads a program, prints what the compiler says of it to the standard error
// (as JSON to the standard output if asked for), and dumps a stage if asked for.
func (f *sourceFlags) compile(cmd *cobra.Command, path string) (*tool.Compiled, error) {
	if f.dump != "" && !slices.Contains(tool.Stages(), f.dump) {
		return nil, refuse("there is no pass %q; the passes are %s", f.dump, strings.Join(tool.Stages(), ", "))
	}
	f.source.Path = path
	c, err := tool.Compile(f.source)
	if err != nil {
		return nil, f.rejected(cmd, err)
	}
	if len(c.Diags) > 0 {
		if err := tool.WriteDiagnostics(cmd.ErrOrStderr(), c.Files, c.Diags, false); err != nil {
			return nil, err
		}
	}
	if f.dump != "" {
		text, err := tool.Dump(c, f.dump)
		if err != nil {
			return nil, err
		}
		fmt.Fprint(cmd.OutOrStdout(), text)
	}
	return c, nil
}

// rejected prints what a compiler says of a program that it rejects, and returns the
// error that ends the command; another error is returned as it is.
func (f *sourceFlags) rejected(cmd *cobra.Command, err error) error {
	var r *tool.Rejected
	if !errors.As(err, &r) {
		return err
	}
	var w io.Writer = cmd.ErrOrStderr()
	if f.json {
		w = cmd.OutOrStdout()
	}
	if err := tool.WriteDiagnostics(w, r.Files, r.Diags, f.json); err != nil {
		return err
	}
	return &ExitError{Code: ExitRefused, Err: fmt.Errorf("%s is rejected", f.source.Path)}
}

func p4Check(sources fs.FS) *cobra.Command {
	var flags sourceFlags
	cmd := &cobra.Command{
		Use: "check FILE.p4", Short: "say what is wrong with a program",
		Long: `Check compiles a program and prints errors and warnings with their places. It ends with
exit code 0 if there is no error, else with 2.`,
		Example: "  catena p4 check nf.p4\n  catena p4 check nf.p4 -I include -D DEBUG=1 --json\n  catena p4 check nf.p4 --dump-after lower",
		Args:    cobra.ExactArgs(1),
	}
	flags.add(cmd, sources)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := flags.compile(cmd, args[0])
		if err != nil || !flags.json || flags.dump != "" {
			return err
		}
		return tool.WriteDiagnostics(cmd.OutOrStdout(), c.Files, c.Diags, true)
	}
	return cmd
}

func p4Build(kernel tool.Kernel, sources fs.FS) *cobra.Command {
	var flags sourceFlags
	var dir, to string
	cmd := &cobra.Command{
		Use: "build FILE.p4 -o DIR", Short: "write what a switch needs to run a program",
		Long: `Build writes NAME.p4info.txtpb and NAME.p4info.bin (the P4Runtime description of the program)
and NAME.p4, the program as portable v1model text for other P4 compilers. For the
target ebpf it adds the C text and the kernel object.`,
		Example: "  catena p4 build nf.p4 -o out\n  catena p4 build nf.p4 -o out --target bmv2",
		Args:    cobra.ExactArgs(1),
	}
	flags.add(cmd, sources)
	cmd.Flags().StringVarP(&dir, "output", "o", "", "write into `DIR`, which is made")
	cmd.Flags().StringVar(&to, "target", "ebpf", "ebpf or bmv2")
	_ = cmd.MarkFlagRequired("output") // the flag exists
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		k, err := targetOf(kernel, to, "bmv2")
		if err != nil {
			return err
		}
		c, err := flags.compile(cmd, args[0])
		if err != nil {
			return err
		}
		paths, err := tool.Build(c, dir, tool.BaseName(args[0]), k)
		if err != nil {
			return flags.rejected(cmd, err)
		}
		if flags.json {
			return writeJSONValue(cmd.OutOrStdout(), map[string]any{"files": paths})
		}
		for _, p := range paths {
			fmt.Fprintln(cmd.OutOrStdout(), p)
		}
		return nil
	}
	return cmd
}

// targetOf returns the kernel for the target ebpf, nil for the other one.
func targetOf(kernel tool.Kernel, name, other string) (tool.Kernel, error) {
	switch name {
	case other:
		return nil, nil
	case "ebpf":
		if kernel == nil {
			return nil, refuse("this program was built without the kernel back end; use --target %s", other)
		}
		return kernel, nil
	}
	return nil, refuse("there is no target %q; the targets are ebpf and %s", name, other)
}

func p4STF(kernel tool.Kernel, sources fs.FS) *cobra.Command {
	var flags sourceFlags
	var to string
	var trace bool
	cmd := &cobra.Command{
		Use: "stf FILE.p4 FILE.stf", Short: "run a packet script on a program",
		Long: `Stf runs an STF script: packets in, packets expected, table entries between. The exit code
is 0 if all is as expected, 1 if not, 2 if the compiler rejects the program.`,
		Example: "  catena p4 stf nf.p4 nf.stf\n  catena p4 stf nf.p4 nf.stf --target ebpf\n  catena p4 stf nf.p4 nf.stf --trace",
		Args:    cobra.ExactArgs(2),
	}
	flags.add(cmd, sources)
	cmd.Flags().StringVar(&to, "target", "interp", "interp or ebpf")
	cmd.Flags().BoolVar(&trace, "trace", false, "print each step of each packet (interp)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		k, err := targetOf(kernel, to, "interp")
		if err != nil {
			return err
		}
		if trace && k != nil {
			return refuse("only the target interp has a trace")
		}
		c, err := flags.compile(cmd, args[0])
		if err != nil {
			return err
		}
		d, err := p4Device(cmd, c, k, trace, flags.json)
		if err != nil {
			return flags.rejected(cmd, err)
		}
		defer d.Close()
		r, err := tool.RunSTF(c, args[1], d)
		if err != nil {
			return &ExitError{Code: ExitFailed, Err: err}
		}
		if err := r.Write(cmd.OutOrStdout(), flags.json); err != nil {
			return err
		}
		if !r.Passed {
			return &ExitError{Code: ExitFailed, Err: fmt.Errorf("%s fails", args[1])}
		}
		return nil
	}
	return cmd
}

func p4Device(cmd *cobra.Command, c *tool.Compiled, k tool.Kernel, trace, asJSON bool) (target.Device, error) {
	if k != nil {
		return k.Device(c, "")
	}
	o := interp.Options{}
	if trace {
		o.Tracer = &tool.Tracer{W: cmd.OutOrStdout(), Position: c.Position, JSON: asJSON}
	}
	return tool.Interpreter(c, o, cmd.ErrOrStderr())
}

func p4Run(sources fs.FS) *cobra.Command {
	var flags sourceFlags
	var o tool.RunOptions
	cmd := &cobra.Command{
		Use: "run FILE.p4 --pcap IN --out OUT", Short: "run a program on a packet capture",
		Long: `Run sends the packets of a capture (pcap or pcapng) through the interpreter, at the times
that the capture tells, and writes what comes out to a pcapng file with one interface for
each port. --trace prints why a packet went where it went.`,
		Example: `  catena p4 run nf.p4 --pcap in.pcap --out out.pcapng
  catena p4 run nf.p4 --pcap in.pcap --entries rules.stf --trace`,
		Args: cobra.ExactArgs(1),
	}
	flags.add(cmd, sources)
	cmd.Flags().StringVar(&o.In, "pcap", "", "read packets from `FILE`")
	cmd.Flags().StringVar(&o.Out, "out", "", "write packets to `FILE`")
	cmd.Flags().StringVar(&o.Entries, "entries", "", "take table entries from an STF script")
	cmd.Flags().Uint32Var(&o.Port, "port", 1, "the port where packets arrive")
	cmd.Flags().BoolVar(&o.PortsOfCapture, "capture-ports", false, "take a packet's interface in the capture for its port, from 1")
	cmd.Flags().BoolVar(&o.Trace, "trace", false, "print each step of each packet")
	_ = cmd.MarkFlagRequired("pcap") // the flag exists
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := flags.compile(cmd, args[0])
		if err != nil {
			return err
		}
		o.JSON = flags.json
		r, err := tool.Run(c, o, cmd.OutOrStdout())
		if err != nil {
			return err
		}
		if flags.json {
			return r.WriteJSON(cmd.OutOrStdout())
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%d packets in, %d out, %d dropped, %d digests\n", r.Received, r.Sent, r.Dropped, r.Digests)
		return nil
	}
	return cmd
}

func p4Corpus(kernel tool.Kernel) *cobra.Command {
	var to string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "corpus DIR", Short: "run all packet scripts of a folder",
		Long: `Corpus runs each NAME.p4 with a NAME.stf beside it, and compiles the programs in folders
named reject, which must be rejected. It prints those that do not do as they should.`,
		Example: "  catena p4 corpus tests\n  catena p4 corpus tests --target ebpf --json",
		Args:    cobra.ExactArgs(1),
	}
	cmd.Flags().StringVar(&to, "target", "interp", "interp or ebpf")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		k, err := targetOf(kernel, to, "interp")
		if err != nil {
			return err
		}
		open := tool.OpenInterpreter
		if k != nil {
			open = func(c *tool.Compiled) (target.Device, error) { return k.Device(c, "") }
		}
		all, err := tool.Corpus(args[0], open)
		if err != nil {
			return err
		}
		if asJSON {
			err = writeJSONValue(cmd.OutOrStdout(), all)
		} else {
			tool.WriteOutcomes(cmd.OutOrStdout(), all)
		}
		failed := len(slices.DeleteFunc(all, func(o tool.Outcome) bool { return o.Verdict == "pass" }))
		if err == nil && failed > 0 {
			return &ExitError{Code: ExitFailed, Err: fmt.Errorf("%s: %d programs do not do as they should", args[0], failed)}
		}
		return err
	}
	return cmd
}
