package orchestration

import (
	"bytes"
	"os"

	"github.com/catena-nfv/catena/bench/harness"
)

func writeMarkdown(path string, report *harness.Report) error {
	var b bytes.Buffer
	if err := report.Markdown(&b); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}
