package p4

import (
	"context"
	"fmt"
	"math/big"
	"slices"

	"github.com/catena-nfv/catena/internal/chain"
	"github.com/catena-nfv/catena/internal/compose"
	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4rt/client"
	"github.com/catena-nfv/catena/internal/service"
)

// State reads the pipeline, the counters and the ports back from the switch.
func (f *Fabric) State(ctx context.Context) (service.SwitchState, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, err := f.connect(ctx)
	if err != nil {
		return service.SwitchState{}, err
	}
	var out service.SwitchState
	if f.cfg.Ports != nil {
		if out.Ports, err = f.cfg.Ports(ctx); err != nil {
			return service.SwitchState{}, err
		}
	}
	out.Pipeline = service.Pipeline{Name: f.cfg.Name, Target: f.cfg.Target, LoadedAt: f.loadedAt}
	if out.Pipeline.Cookie, err = s.Cookie(ctx); err != nil {
		return service.SwitchState{}, err
	}
	if f.running == nil {
		return out, nil
	}
	schema, err := s.Schema()
	if err != nil {
		return service.SwitchState{}, err
	}
	out.Pipeline.Tables = len(schema.Tables.All())
	if f.installed == nil {
		if f.installed, err = read(ctx, s); err != nil {
			return service.SwitchState{}, err
		}
	}
	out.Pipeline.Entries = len(f.installed)
	seen, err := s.Counters(ctx, compose.NodeCounter)
	if err != nil {
		return service.SwitchState{}, err
	}
	dropped, err := s.Counters(ctx, compose.DropCounter)
	if err != nil {
		return service.SwitchState{}, err
	}
	chains, err := s.Counters(ctx, chainCounter)
	if err != nil {
		return service.SwitchState{}, err
	}
	met := map[string]int{}
	for _, n := range f.running.Graph.Nodes {
		c := cell(seen, n.ID)
		x := service.NFState{Node: n.ID, NF: n.NF, Packets: c.Packets, Bytes: c.Bytes, Dropped: cell(dropped, n.ID).Packets}
		if met[n.NF]++; met[n.NF] > 1 {
			x.NF = fmt.Sprintf("%s#%d", n.NF, met[n.NF])
		}
		out.NFs = append(out.NFs, x)
	}
	for _, k := range f.chains() {
		c := cell(chains, k.ID)
		out.Chains = append(out.Chains, service.ChainState{
			Number: uint32(k.ID), Name: k.Name, Paths: slices.Clone(k.Paths), Packets: c.Packets, Bytes: c.Bytes,
		})
	}
	return out, nil
}

// chains returns the chains that run. The text of the program tells those that there
// were when it was loaded; the entries of the classifier tell the paths of others.
func (f *Fabric) chains() []chain.Chain {
	out := slices.Clone(f.running.Graph.Chains)
	known := len(out)
	for _, e := range f.installed {
		x, ok := e.(client.Entry)
		if !ok || x.Table != tableClassifier {
			continue
		}
		number, path := asInt(x.Params["chain"]), asInt(x.Params["path"])
		i := slices.IndexFunc(out, func(c chain.Chain) bool { return c.ID == number })
		if i >= 0 && i < known || path < 1 || path > 0xffff {
			continue
		}
		if i < 0 {
			i = len(out)
			out = append(out, chain.Chain{ID: number})
		}
		for len(out[i].Paths) < path {
			out[i].Paths = append(out[i].Paths, nil)
		}
		bitmap := new(big.Int).SetBytes(x.Params["nodes"])
		var nodes []int
		for _, n := range f.running.Graph.Nodes {
			if bitmap.Bit(n.ID) == 1 {
				nodes = append(nodes, n.ID)
			}
		}
		out[i].Paths[path-1] = nodes
	}
	slices.SortFunc(out, func(a, b chain.Chain) int { return a.ID - b.ID })
	return out
}

func asInt(b []byte) int { return int(new(big.Int).SetBytes(b).Int64()) }

func cell(all []target.Counter, i int) target.Counter {
	if i < len(all) {
		return all[i]
	}
	return target.Counter{}
}
