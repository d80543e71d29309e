// Package bench lists the benchmarks: the tables and figures of the papers and the project's own bars.
// `catena bench` runs them. README.md tells how to read each of them.
package bench

import (
	"github.com/catena-nfv/catena/bench/build"
	"github.com/catena-nfv/catena/bench/codegen"
	"github.com/catena-nfv/catena/bench/efficiency"
	"github.com/catena-nfv/catena/bench/harness"
	"github.com/catena-nfv/catena/bench/merge"
	"github.com/catena-nfv/catena/bench/orchestration"
	"github.com/catena-nfv/catena/bench/tables"
	"github.com/catena-nfv/catena/bench/throughput"
)

// Config is what the benchmarks need of the product that only the command can name.
type Config struct {
	// OpenSwitch makes a switch in the kernel with what programs it.
	OpenSwitch throughput.OpenSwitch
	// Orchestration is the cloud and the controller on it.
	Orchestration orchestration.Config
}

// All returns the benchmarks in the order in which they are listed.
func All(cfg Config) []harness.Scenario {
	return []harness.Scenario{
		throughput.Scenario(cfg.OpenSwitch),
		codegen.Scenario(),
		merge.Scenario(),
		efficiency.Scenario(),
		build.Scenario(),
		tables.Scenario(),
		efficiency.ChangeScenario(cfg.OpenSwitch),
		orchestration.Scenario(cfg.Orchestration),
	}
}
