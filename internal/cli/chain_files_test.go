package cli_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"github.com/catena-nfv/catena/internal/cli"
	"github.com/catena-nfv/catena/internal/service"
)

// tableCounts is a library that knows nothing but how many tables its NFs have.
type tableCounts map[string]int

func (l tableCounts) List() ([]service.NFInfo, error) {
	var out []service.NFInfo
	for name, n := range l {
		out = append(out, service.NFInfo{Name: name, Tables: make([]service.NFTable, n)})
	}
	return out, nil
}

func (l tableCounts) Import(io.Writer, string) (service.NFInfo, error) {
	return service.NFInfo{}, errors.New("no import here")
}

// TestChainScripts runs testdata/chain. In a script, `chain N ARGS` runs `catena chain ARGS` and wants
// the exit code N.
func TestChainScripts(t *testing.T) {
	library := tableCounts{"IDS": 2, "Firewall": 1, "NAT": 2, "LB": 2, "L2fwd": 1, "L3fwd": 1}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "chain"),
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"chain": func(ts *testscript.TestScript, _ bool, args []string) {
				root := &cobra.Command{Use: "chain", SilenceUsage: true, SilenceErrors: true}
				root.AddCommand(cli.ChainFileCommands(func() (cli.NFLibrary, error) { return library, nil })...)
				for i, a := range args {
					if i > 0 && (filepath.Ext(a) == ".sfc" || filepath.Ext(a) == ".json") {
						args[i] = ts.MkAbs(a)
					}
				}
				root.SetArgs(args[1:])
				root.SetOut(ts.Stdout())
				root.SetErr(ts.Stderr())
				err := root.Execute()
				var exit *cli.ExitError
				if err != nil && !(errors.As(err, &exit) && exit.Err == nil) {
					io.WriteString(ts.Stderr(), cli.Message(err)+"\n")
				}
				if got := string(rune('0' + cli.CodeOf(err))); got != args[0] {
					ts.Fatalf("exit code %s, want %s: %v", got, args[0], err)
				}
			},
		},
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
	})
}
