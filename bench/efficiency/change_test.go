package efficiency

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/catena-nfv/catena/bench/harness"
	"github.com/catena-nfv/catena/bench/throughput"
	"github.com/catena-nfv/catena/bench/workload"
	"github.com/catena-nfv/catena/internal/service"
)

// fake is a switch that compares configurations as the fabric does, and takes a while for its entries.
type fake struct {
	throughput.Switch
	have      service.SwitchConfig
	recompile bool
	closed    bool
}

func (f *fake) Deploy(_ context.Context, cfg service.SwitchConfig) (service.SwitchReport, error) {
	r := service.SwitchReport{Recompiled: f.recompile, Stages: []service.Stage{{Name: "merge", Duration: time.Hour}, {Name: "entries", Duration: 3 * time.Millisecond}}}
	if !reflect.DeepEqual(f.have, cfg) {
		r.EntriesChanged = 1
	}
	f.have = cfg
	return r, nil
}

func (f *fake) Close() error { f.closed = true; return nil }

func config(t *testing.T) service.SwitchConfig {
	t.Helper()
	cfg, err := workload.Config(workload.DefaultFlow(), workload.SFC1, []string{"IDS", "Firewall", "NAT", "L3fwd"})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// TestChanges checks that each round changes something, and that the configuration it starts from stays.
func TestChanges(t *testing.T) {
	for _, c := range changes() {
		cfg := config(t)
		before := config(t)
		for round := range 6 {
			a, b := c.apply(cfg, round), c.apply(cfg, round+1)
			if reflect.DeepEqual(a, b) {
				t.Errorf("%s: rounds %d and %d have the same configuration", c.name, round, round+1)
			}
		}
		if !reflect.DeepEqual(cfg, before) {
			t.Errorf("%s changes the configuration that it is given", c.name)
		}
	}
}

func TestMeasureChange(t *testing.T) {
	f := &fake{have: config(t)}
	total, entries, updates, err := measureChange(context.Background(), harness.Options{Rounds: 4}, f, config(t), changes()[0])
	if err != nil || len(total) != 4 || updates != 1 || entries[3] != 3 {
		t.Errorf("%v %v %d %v", total, entries, updates, err)
	}
	if !reflect.DeepEqual(f.have, config(t)) {
		t.Error("the change is not taken back")
	}
	f.recompile = true
	if _, _, _, err := measureChange(context.Background(), harness.Options{Rounds: 4}, f, config(t), changes()[0]); err == nil {
		t.Error("a change that takes another program is measured")
	}
	nothing := change{"nothing", func(cfg service.SwitchConfig, _ int) service.SwitchConfig { return cfg }}
	if _, _, _, err := measureChange(context.Background(), harness.Options{Rounds: 4}, &fake{have: config(t)}, config(t), nothing); err == nil {
		t.Error("a change of nothing is measured")
	}
}

func TestChangeCloses(t *testing.T) {
	f := &fake{recompile: true}
	s := ChangeScenario(func(context.Context, string) (throughput.Switch, error) { return f, nil })
	if _, err := s.Run(context.Background(), harness.Options{Rounds: 1}); err == nil || !f.closed {
		t.Errorf("closed %t, error %v", f.closed, err)
	}
}
