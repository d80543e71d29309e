package filelock

import (
	"errors"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

func TestTake(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	if held, err := Held(name); held || err != nil {
		t.Errorf("without a file: %v, %v", held, err)
	}
	f, err := Take(name)
	if err != nil {
		t.Fatal(err)
	}
	if held, err := Held(name); !held || err != nil {
		t.Errorf("while it is held: %v, %v", held, err)
	}
	if _, err := Take(name); !errors.Is(err, ErrHeld) {
		t.Errorf("second owner: %v, want ErrHeld", err)
	}
	f.Close()
	if held, err := Held(name); held || err != nil {
		t.Errorf("after it was given back: %v, %v", held, err)
	}
}

// TestTakeWaits has a child hold the descriptor a little longer than its parent, as
// one does between fork and exec.
func TestTakeWaits(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	f, err := Take(name)
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command("sleep", "0.2")
	child.Stdout = f // inherited
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	f.Close()
	if held, err := Held(name); !held || err != nil {
		t.Errorf("the child does not hold the lock: %v, %v", held, err)
	}
	start := time.Now()
	next, err := Take(name)
	if err != nil {
		t.Fatalf("after %v: %v", time.Since(start), err)
	}
	next.Close()
	if err := child.Wait(); err != nil {
		t.Error(err)
	}
}
