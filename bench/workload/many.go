package workload

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/catena-nfv/catena/internal/chain"
	"github.com/catena-nfv/catena/internal/nf"
)

// ManyNFs is the number of NFs in paper 003's experiments with many chains (section IV-E).
const ManyNFs = 15

// Many returns n linear requests of the paper's kind over ManyNFs NFs, called NF1, NF2, ….
func Many(seed uint64, n int) string {
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	return chain.RandomRequests(rng, n, chain.RandomOptions{NFs: ManyNFs, MaxBranches: 1})
}

// controls are the names of the blocks that a program of the library declares itself.
var controls = regexp.MustCompile(`(?m)^(?:parser|control) (\w+)\(`)

// Library opens a library that also has NF1 to NF15 in it: programs of their own, made after the library's six in turn,
// imported from a folder as an operator's NFs are. The folder is dir, which must be empty.
func Library(dir string) (*nf.Library, error) {
	models := []string{"ids/ids", "firewall/firewall", "nat/nat", "l3fwd/l3fwd", "lb/lb", "l2fwd/l2fwd"}
	for i := range ManyNFs {
		text, err := nf.File(models[i%len(models)] + ".p4")
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("NF%d", i+1)
		if err := os.WriteFile(filepath.Join(dir, name+".p4"), []byte(variant(string(text), i)), 0o644); err != nil {
			return nil, err
		}
	}
	return nf.Open(dir)
}

// variant is a program with blocks of its own names and tables of its own sizes.
func variant(text string, i int) string {
	for _, m := range controls.FindAllStringSubmatch(text, -1) {
		text = regexp.MustCompile(`\b`+m[1]+`\b`).ReplaceAllString(text, fmt.Sprintf("%s%d", m[1], i+1))
	}
	return strings.ReplaceAll(text, "size = 65536;", fmt.Sprintf("size = %d;", 32768+1024*i))
}
