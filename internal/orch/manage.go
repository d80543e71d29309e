package orch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/catena-nfv/catena/internal/service"
)

// ErrAmbiguous says that a chain's name fits several chains.
var ErrAmbiguous = errors.New("ambiguous")

// ErrInvalid says that a request does not make sense for the object as it is.
var ErrInvalid = errors.New("invalid")

// ChainInfo is a deployed chain (paper 003, Table II, Show_SFCs).
type ChainInfo struct {
	Owner   service.Owner
	Number  uint32
	Chain   service.Chain  // as asked for
	Shared  []service.Rule // the service's own rules, which hold here, too
	Paths   []ChainPath    // as the switch has them
	Packets uint64
	Bytes   uint64
}

// ChainPath is one path of a chain.
type ChainPath struct {
	NFs   []string
	Nodes []int
}

// ChangeReport tells what a change of a chain did.
type ChangeReport struct {
	Switch service.SwitchReport
	Took   time.Duration
}

// Chains lists the chains of a project ("" all), sorted by number.
func (o *Orchestrator) Chains(ctx context.Context, project string) ([]ChainInfo, error) {
	services, err := o.List(ctx, project)
	if err != nil {
		return nil, err
	}
	n := numbers{}
	if _, _, err := getJSON(ctx, o.store, numbersKey, &n); err != nil {
		return nil, err
	}
	st, err := o.fabric.State(ctx)
	if err != nil {
		return nil, err
	}
	states := map[uint32]service.ChainState{}
	for _, c := range st.Chains {
		states[c.Number] = c
	}
	names := map[int]string{}
	for _, nf := range st.NFs {
		names[nf.Node] = nf.NF
	}
	var out []ChainInfo
	for _, s := range services {
		owner := s.Service.Owner()
		for _, c := range s.Service.Chains {
			info := ChainInfo{Owner: owner, Number: n.get(chainNumber, owner, c.Name), Chain: c, Shared: s.Service.Rules}
			cs := states[info.Number]
			info.Packets, info.Bytes = cs.Packets, cs.Bytes
			for _, nodes := range cs.Paths {
				p := ChainPath{Nodes: nodes}
				for _, node := range nodes {
					p.NFs = append(p.NFs, names[node])
				}
				info.Paths = append(info.Paths, p)
			}
			out = append(out, info)
		}
	}
	slices.SortFunc(out, func(a, b ChainInfo) int { return int(a.Number) - int(b.Number) })
	return out, nil
}

// Chain finds one chain by its number, or by NAME, SERVICE/NAME or
// PROJECT/SERVICE/NAME. project limits the search ("" all).
func (o *Orchestrator) Chain(ctx context.Context, project, ref string) (*ChainInfo, error) {
	all, err := o.Chains(ctx, project)
	if err != nil {
		return nil, err
	}
	var found []ChainInfo
	for _, c := range all {
		full := c.Owner.String() + "/" + c.Chain.Name
		if strconv.FormatUint(uint64(c.Number), 10) == ref || full == ref || strings.HasSuffix(full, "/"+ref) {
			found = append(found, c)
		}
	}
	// A number means the number, even where a chain has it as its name.
	if n, err := strconv.ParseUint(ref, 10, 32); err == nil && len(found) > 1 {
		found = slices.DeleteFunc(found, func(c ChainInfo) bool { return uint64(c.Number) != n })
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("chain %q: %w; \"catena chain list\" shows all", ref, ErrNotFound)
	case 1:
		return &found[0], nil
	}
	return nil, fmt.Errorf("chain %q: %w: it is in services %s and %s; write SERVICE/CHAIN", ref, ErrAmbiguous, found[0].Owner, found[1].Owner)
}

// SelectPath makes the classifiers of a chain that name no path lead to this
// one, counted from 1 (Select_SFC). Only table entries change.
func (o *Orchestrator) SelectPath(ctx context.Context, c *ChainInfo, path int) (ChangeReport, error) {
	if path == 0 {
		path = 1
	}
	return o.modify(ctx, c, func(s *service.Service, chain *service.Chain) error {
		if path < 0 || len(c.Paths) > 0 && path > len(c.Paths) {
			return fmt.Errorf("%w: chain %q has %d paths, but no path %d", ErrInvalid, chain.Name, len(c.Paths), path)
		}
		chain.Path = path
		return nil
	})
}

// DeleteChain removes a chain; or, with a path, the classifiers that lead to it,
// so that no packet takes it any more (Delete_SFC).
func (o *Orchestrator) DeleteChain(ctx context.Context, c *ChainInfo, path int) (ChangeReport, error) {
	return o.modify(ctx, c, func(s *service.Service, chain *service.Chain) error {
		if path == 0 {
			s.Chains = slices.DeleteFunc(s.Chains, func(o service.Chain) bool { return o.Name == chain.Name })
			return nil
		}
		before := len(chain.Match)
		chain.Match = slices.DeleteFunc(chain.Match, func(m service.Classifier) bool {
			return m.Path == path || m.Path == 0 && chain.Path == path
		})
		if len(chain.Match) == before {
			return fmt.Errorf("path %d of chain %q: %w: no classifier leads to it", path, chain.Name, ErrNotFound)
		}
		return nil
	})
}

// AddRule adds a rule to a chain's own.
func (o *Orchestrator) AddRule(ctx context.Context, c *ChainInfo, r service.Rule) (ChangeReport, error) {
	return o.modify(ctx, c, func(s *service.Service, chain *service.Chain) error {
		for _, old := range chain.Rules {
			if RuleID(old) == RuleID(r) {
				return fmt.Errorf("%w: chain %q has this rule already, as %s", ErrExists, chain.Name, RuleID(r))
			}
		}
		chain.Rules = append(chain.Rules, r)
		return nil
	})
}

// ErrExists says that what is to be added is there.
var ErrExists = errors.New("exists")

// DeleteRule removes a rule of a chain by its id.
func (o *Orchestrator) DeleteRule(ctx context.Context, c *ChainInfo, id string) (ChangeReport, error) {
	return o.modify(ctx, c, func(s *service.Service, chain *service.Chain) error {
		before := len(chain.Rules)
		chain.Rules = slices.DeleteFunc(chain.Rules, func(r service.Rule) bool { return RuleID(r) == id })
		if len(chain.Rules) == before {
			return fmt.Errorf("rule %q of chain %q: %w", id, chain.Name, ErrNotFound)
		}
		return nil
	})
}

// RuleID is derived from a rule's content.
func RuleID(r service.Rule) string {
	d, err := digest(r)
	if err != nil { // a struct of texts and numbers always has JSON
		panic(err)
	}
	return d[:12]
}

// modify changes the chain in a copy of its service and applies that, relying on
// the records: only the switch is touched, so the cloud is not asked.
func (o *Orchestrator) modify(ctx context.Context, c *ChainInfo, f func(*service.Service, *service.Chain) error) (ChangeReport, error) {
	begun := o.now()
	if err := o.enterInTurn(ctx, c.Owner); err != nil {
		return ChangeReport{}, err
	}
	defer o.leave(c.Owner)
	rec, apply, err := o.previous(ctx, c.Owner)
	switch {
	case err != nil:
		return ChangeReport{}, err
	case rec == nil || rec.Service.Chain(c.Chain.Name) == nil:
		return ChangeReport{}, fmt.Errorf("chain %q of service %s: %w", c.Chain.Name, c.Owner, ErrNotFound)
	case apply != nil:
		return ChangeReport{}, fmt.Errorf("%w: service %s is broken (%s); apply it again", ErrInvalid, c.Owner, apply.Reason)
	}
	svc, err := clone(rec.Service)
	if err != nil {
		return ChangeReport{}, err
	}
	if err := f(svc, svc.Chain(c.Chain.Name)); err != nil {
		return ChangeReport{}, err
	}
	if err := service.NewError(nil, svc.Validate()); err != nil {
		return ChangeReport{}, err
	}
	var report ChangeReport
	err = o.change(ctx, Request{Service: svc}, rec, changeOptions{
		begun: begun, trust: true, report: func(r service.SwitchReport) { report.Switch = r },
	})
	report.Took = o.now().Sub(begun)
	return report, err
}

// clone copies a service deeply, by the form in which it is stored.
func clone(s *service.Service) (*service.Service, error) {
	b, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	out := &service.Service{}
	return out, json.Unmarshal(b, out)
}
