package e2e

import (
	"bytes"
	"strings"
	"sync"
)

// watched collects a command's output and tells when it contains a text.
type watched struct {
	until string
	found chan struct{}

	mu   sync.Mutex
	buf  bytes.Buffer
	once sync.Once
}

func (w *watched) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf.Write(b)
	if w.until != "" && strings.Contains(w.buf.String(), w.until) {
		w.once.Do(func() { close(w.found) })
	}
	return len(b), nil
}

func (w *watched) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.String()
}
