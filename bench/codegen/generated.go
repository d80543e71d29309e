package codegen

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/catena-nfv/catena/bench/build"
	graph "github.com/catena-nfv/catena/internal/chain"
	"github.com/catena-nfv/catena/internal/compose"
	"github.com/catena-nfv/catena/internal/dataplane"
	"github.com/catena-nfv/catena/internal/nf"
	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/service"
)

// backbone is the smallest one: the chain is what is measured.
const backbone = "wire"

// control is the name of the backbone's ingress.
const control = "WireIngress"

// generate compiles a chain; request "" is the backbone alone.
func generate(ctx context.Context, lib *nf.Library, request string, hook ebpf.Target) (*build.Result, error) {
	return build.Kernel(ctx, lib, backbone, request, hook)
}

// loadGenerated loads a compiled chain and writes a workload. Of the backbone alone only the classifiers are written.
func loadGenerated(ctx context.Context, lib *nf.Library, r *build.Result, hook ebpf.Target, w workloadOf) (*dataplane.Program, error) {
	p, err := dataplane.Load(ctx, r.Object, dataplane.LoadOptions{Targets: []ebpf.Target{hook}})
	if err != nil {
		return nil, err
	}
	if way := r.Object.Way(hook); way != dataplane.Ways()[0] {
		return nil, errors.Join(fmt.Errorf("the kernel took %s only as %q, which is not what is compared", r.Spec.Name, way), p.Close())
	}
	// The ports out first: both are the interface that a test run's packets come from.
	err = errors.Join(p.SetPort(outPort, testInterface, 0), p.SetPort(inPort, testInterface, 0))
	if err == nil {
		err = fill(p, lib, r, w)
	}
	if err == nil && r.Spec.Multicast {
		err = p.WriteMulticast(target.Insert, floodGroup, []target.Replica{{Port: inPort}, {Port: outPort}})
	}
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// fill writes classifiers and rules.
func fill(p *dataplane.Program, lib *nf.Library, r *build.Result, w workloadOf) error {
	for _, c := range w.classifiers {
		var nodes graph.NodeSet
		if len(r.Graph.Chains) > 0 {
			var err error
			if nodes, err = r.Graph.Visits(r.Graph.Chains[0].ID, c.path); err != nil {
				return err
			}
		}
		bitmap, err := nodes.Bytes(r.NodeBits)
		if err != nil {
			return err
		}
		ms, _, err := parseRule(service.Rule{NF: control, Table: compose.ClassifierTable, Match: c.match}, fiveKeys(), nil)
		if err != nil {
			return err
		}
		e := target.Entry{
			Table: control + "." + compose.ClassifierTable, Priority: 1,
			Match: []target.Match{ternary(match{uint64(c.port), ones(9)})},
			Action: &target.Action{Name: control + ".set_chain", Params: [][]byte{
				number(scope), number(chainNumber), number(uint64(c.path)), bitmap,
			}},
		}
		for _, m := range ms {
			e.Match = append(e.Match, ternary(m))
		}
		if err := p.WriteEntry(target.Insert, e); err != nil {
			return err
		}
	}
	visited := map[string]bool{}
	for _, n := range r.Graph.Nodes {
		visited[n.NF] = true
	}
	for _, info := range lib.NFs() {
		if !visited[info.Name] {
			continue
		}
		for _, rule := range w.rules[info.Name] {
			e, err := entry(info, rule)
			if err != nil {
				return err
			}
			if err := p.WriteEntry(target.Insert, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// entry turns a rule into an entry of the composed program.
func entry(info service.NFInfo, r service.Rule) (target.Entry, error) {
	for _, t := range info.Tables {
		if t.Name != r.Table {
			continue
		}
		var keys, params []field
		prioritised := false
		for _, k := range t.Keys {
			keys = append(keys, field{k.Name, k.Bits})
			prioritised = prioritised || k.Match == "ternary"
		}
		for _, a := range t.Actions {
			if a.Name == r.Action {
				for _, p := range a.Params {
					params = append(params, field{p.Name, p.Bits})
				}
			}
		}
		ms, ps, err := parseRule(r, keys, params)
		if err != nil {
			return target.Entry{}, err
		}
		e := target.Entry{
			Table: info.Name + "." + t.Name, Match: []target.Match{{Value: number(scope)}},
			Action: &target.Action{Name: info.Name + "." + r.Action},
		}
		if prioritised {
			e.Priority = r.Priority + 1
		}
		for i, m := range ms {
			switch t.Keys[i].Match {
			case "exact":
				e.Match = append(e.Match, target.Match{Value: number(m.value)})
			case "lpm":
				e.Match = append(e.Match, target.Match{Value: number(m.value), PrefixLen: m.prefix(), Any: m.any()})
			case "ternary":
				e.Match = append(e.Match, ternary(m))
			default:
				return target.Entry{}, fmt.Errorf("%s: key %s: match kind %s is not in the workload", e.Table, t.Keys[i].Name, t.Keys[i].Match)
			}
		}
		for _, v := range ps {
			e.Action.Params = append(e.Action.Params, number(v))
		}
		return e, nil
	}
	return target.Entry{}, fmt.Errorf("NF %s has no table %q", info.Name, r.Table)
}

func ternary(m match) target.Match {
	if m.any() {
		return target.Match{Any: true}
	}
	return target.Match{Value: number(m.value), Mask: number(m.mask)}
}

// number is a value as the control plane writes it.
func number(v uint64) []byte { return new(big.Int).SetUint64(v).FillBytes(make([]byte, 8)) }
