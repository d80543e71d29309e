package main

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "write what commands print into the scripts")

// TestMain makes this binary the command catena for the scripts.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"catena": main})
}

// TestScripts runs test/script: the command line without a controller. `status N
// COMMAND…` expects an exit code.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           filepath.Join("..", "..", "test", "script"),
		UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			// No controller runs there, and nothing is imported.
			e.Vars = append(e.Vars, "CATENA_STATE="+e.WorkDir+"/state", "CATENA_RUN="+e.WorkDir+"/run",
				"CATENA_GRPC=127.0.0.1:1", "CATENA_HTTP=127.0.0.1:1")
			return nil
		},
		Condition: func(cond string) (bool, error) {
			return cond == "root" && os.Geteuid() == 0, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": status},
	})
}

var exitStatus = regexp.MustCompile(`exit status (\d+)`)

// status runs a command that is to end with an exit code.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status CODE COMMAND ARG…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		m := exitStatus.FindStringSubmatch(err.Error())
		if m == nil {
			ts.Fatalf("%v", err)
		}
		got, _ = strconv.Atoi(m[1])
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}
