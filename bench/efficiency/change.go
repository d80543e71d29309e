package efficiency

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/catena-nfv/catena/bench/harness"
	"github.com/catena-nfv/catena/bench/netlab"
	"github.com/catena-nfv/catena/bench/throughput"
	"github.com/catena-nfv/catena/bench/workload"
	"github.com/catena-nfv/catena/internal/service"
)

// live is within how many milliseconds a change that needs table entries alone must be in force.
const live = 50

// ChangeScenario returns the benchmark of changes at run time.
func ChangeScenario(open throughput.OpenSwitch) harness.Scenario {
	s := harness.Scenario{
		Name: "change-latency", Title: "time until a changed rule or chain is in force", Source: "paper 003, Fig. 7b",
		Root: true, Defaults: harness.Options{Rounds: 100, Seed: 1},
	}
	s.Run = func(ctx context.Context, opt harness.Options) (*harness.Report, error) {
		return runChange(ctx, s, opt, open)
	}
	return s
}

// change is a kind of changes: apply makes the configuration of a round from the one that is deployed first.
type change struct {
	name  string
	apply func(cfg service.SwitchConfig, round int) service.SwitchConfig
}

// changes toggle what they change, so that every round changes the switch.
func changes() []change {
	return []change{
		{"one rule of the firewall changed", func(cfg service.SwitchConfig, round int) service.SwitchConfig {
			rules := append([]service.Rule{}, cfg.Chains[0].Chain.Rules...)
			for i, r := range rules {
				if r.NF == "Firewall" && r.Action == "deny" && round%2 == 0 {
					rules[i].Action = "allow"
					break
				}
			}
			chain := cfg.Chains[0]
			chain.Chain.Rules = rules
			cfg.Chains = []service.SwitchChain{chain}
			return cfg
		}},
		{"a chain that fits the order added or removed", func(cfg service.SwitchConfig, round int) service.SwitchConfig {
			if round%2 == 0 {
				second := cfg.Chains[0]
				second.Number, second.Scope = 2, 2
				second.Chain = service.Chain{
					Name: "second", Request: "IDS before NAT",
					Match: []service.Classifier{{From: "clients", Protocol: "udp"}},
				}
				cfg.Chains = []service.SwitchChain{cfg.Chains[0], second}
			}
			return cfg
		}},
	}
}

func runChange(ctx context.Context, sc harness.Scenario, opt harness.Options, open throughput.OpenSwitch) (_ *harness.Report, err error) {
	if err := netlab.Need(map[string]string{"clang": "clang"}); err != nil {
		return nil, err
	}
	sw, err := open(ctx, "change")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, sw.Close()) }()
	nfs := []string{"IDS", "Firewall", "NAT", "L3fwd"}
	cfg, err := workload.Config(workload.DefaultFlow(), workload.SFC1, nfs)
	if err != nil {
		return nil, err
	}
	opt.Tell("deploy %s", workload.SFC1)
	if _, err := sw.Deploy(ctx, cfg); err != nil {
		return nil, err
	}
	r := harness.NewReport(sc, opt)
	t := harness.Table{
		Title: "milliseconds, on a switch with SFC1 and 100 rules an NF",
		Columns: []harness.Column{
			{Key: "change", Head: "change"}, {Key: "total_ms", Head: "until in force"},
			{Key: "entries_ms", Head: "of which written"}, {Key: "p99_ms", Head: "99 of 100 within"}, {Key: "updates", Head: "entries"},
		},
	}
	for _, c := range changes() {
		opt.Tell("%s", c.name)
		total, entries, updates, err := measureChange(ctx, opt, sw, cfg, c)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		t.Row(c.name, total, entries, total.Quantile(0.99), updates)
		r.Bars = append(r.Bars, harness.Bar{Name: c.name + ": ms until in force", Value: total, AtMost: live})
	}
	r.Tables = []harness.Table{t}
	r.Notes = []string{
		"The whole way of a change: the configuration is compared, planned, turned into entries and written over P4Runtime, which answers " +
			"when packets see it. No program is compiled or replaced.",
		"The paper measures what its wrapper adds to the device's own interface: 0.05 ms (Fig. 7b). Here that is the first column less the second.",
	}
	return r, nil
}

// measureChange makes a change in every round, and tells in milliseconds how long it took and how much of that was
// writing; and how many entries a round changes.
func measureChange(ctx context.Context, opt harness.Options, sw throughput.Switch, cfg service.SwitchConfig, c change) (total, entries harness.Sample, updates int, err error) {
	for round := range opt.Rounds {
		next := c.apply(cfg, round)
		start := time.Now()
		report, err := sw.Deploy(ctx, next)
		took := time.Since(start)
		if err != nil {
			return nil, nil, 0, err
		}
		if report.Recompiled {
			return nil, nil, 0, errors.New("the change took another program")
		}
		updates = report.EntriesAdded + report.EntriesChanged + report.EntriesDeleted
		if updates == 0 {
			return nil, nil, 0, fmt.Errorf("round %d changed nothing", round+1)
		}
		total = append(total, took.Seconds()*1e3)
		var writing time.Duration
		for _, s := range report.Stages {
			if s.Name == "entries" {
				writing += s.Duration
			}
		}
		entries = append(entries, writing.Seconds()*1e3)
	}
	_, err = sw.Deploy(ctx, cfg)
	return total, entries, updates, err
}
