package dataplane

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestCleanCache keeps what is used, and what may still be in use.
func TestCleanCache(t *testing.T) {
	dir := t.TempDir()
	make := func(name string, age time.Duration) string {
		t.Helper()
		file := filepath.Join(dir, name)
		must(t, os.WriteFile(file, []byte("x"), 0o644))
		at := time.Now().Add(-age)
		must(t, os.Chtimes(file, at, at))
		return file
	}
	make("old.o", 2*keepCached)
	make("new.o", time.Hour)
	used := make("used.program", 2*keepCached)
	make(buildPrefix+"dead", 2*time.Hour)
	make(buildPrefix+"running", time.Minute)
	if _, err := ReadCached(used); err != nil {
		t.Fatal(err)
	}
	must(t, CleanCache(dir))
	var left []string
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{buildPrefix + "running", "new.o", "used.program"}; !slices.Equal(left, want) {
		t.Errorf("left are %q, want %q", left, want)
	}
	must(t, CleanCache(filepath.Join(dir, "nowhere")))
}
