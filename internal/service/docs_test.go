package service

import (
	"os"
	"strings"
	"testing"
)

// TestDocumentedService reads the service of the page on service files as a user would.
func TestDocumentedService(t *testing.T) {
	page, err := os.ReadFile("../../docs/service-files.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	text, _, _ := strings.Cut(rest, "```")
	text = strings.Replace(text, "# external: public", "external: public", 1)
	text = strings.Replace(text, "networks: [back] ", "networks: [{network: back, floating_ip: true}] ", 1)
	s, _, err := Parse("service-files.md", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.KeyPairs) == 0 || s.Servers[0].Networks[0].FloatingIP != "public" {
		t.Errorf("keypairs %v, attachment %+v", s.KeyPairs, s.Servers[0].Networks[0])
	}
}
