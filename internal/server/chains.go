package server

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	catenav1 "github.com/catena-nfv/catena/api/catena/v1"
	"github.com/catena-nfv/catena/internal/orch"
	"github.com/catena-nfv/catena/internal/service"
)

// chains lists those of a project, or all that the caller may see.
func (a *api) chains(ctx context.Context, projectName string) ([]orch.ChainInfo, error) {
	visible, err := projects(ctx, projectName)
	if err != nil {
		return nil, err
	}
	var out []orch.ChainInfo
	for _, p := range visible {
		list, err := a.orch.Chains(ctx, p)
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	slices.SortFunc(out, func(a, b orch.ChainInfo) int { return int(a.Number) - int(b.Number) })
	return out, nil
}

// chain finds a chain in the projects of the caller; of others it is not even
// said that they exist.
func (a *api) chain(ctx context.Context, ref string) (*orch.ChainInfo, error) {
	if ref == "" {
		return nil, status.Error(codes.InvalidArgument, "the request names no chain")
	}
	visible, err := projects(ctx, "")
	if err != nil {
		return nil, err
	}
	var found *orch.ChainInfo
	for _, p := range visible {
		c, err := a.orch.Chain(ctx, p, ref)
		switch {
		case errors.Is(err, orch.ErrNotFound):
		case err != nil:
			return nil, err
		case found != nil:
			return nil, fmt.Errorf("chain %q: %w: it is in services %s and %s", ref, orch.ErrAmbiguous, found.Owner, c.Owner)
		default:
			found = c
		}
	}
	if found == nil {
		return nil, fmt.Errorf("chain %q: %w; \"catena chain list\" shows all", ref, orch.ErrNotFound)
	}
	return found, nil
}

func (a *api) ListChains(ctx context.Context, m *catenav1.ListChainsRequest) (*catenav1.ListChainsResponse, error) {
	list, err := a.chains(ctx, m.GetProject())
	if err != nil {
		return nil, err
	}
	resp := &catenav1.ListChainsResponse{}
	for i := range list {
		resp.Chains = append(resp.Chains, fromChain(&list[i]))
	}
	return resp, nil
}

func (a *api) ListPaths(ctx context.Context, m *catenav1.ListPathsRequest) (*catenav1.ListPathsResponse, error) {
	c, err := a.chain(ctx, m.GetChain())
	if err != nil {
		return nil, err
	}
	return &catenav1.ListPathsResponse{Chain: fromChain(c), Paths: fromPaths(c)}, nil
}

func (a *api) GetChainConfig(ctx context.Context, m *catenav1.GetChainConfigRequest) (*catenav1.ChainConfig, error) {
	c, err := a.chain(ctx, m.GetChain())
	if err != nil {
		return nil, err
	}
	paths := fromPaths(c)
	path := int(m.GetPath())
	if path < 0 || path > len(paths) {
		return nil, status.Errorf(codes.NotFound, "chain %q has %d paths, but no path %d", c.Chain.Name, len(paths), path)
	}
	cfg := &catenav1.ChainConfig{Chain: fromChain(c), Paths: paths}
	match := c.Chain.Match
	rules := ruleInfos(c)
	if path > 0 {
		cfg.Paths = paths[path-1 : path]
		match = slices.DeleteFunc(slices.Clone(match), func(m service.Classifier) bool {
			return m.Path != path && (m.Path != 0 || c.Chain.Path != path)
		})
		// A rule belongs to an NF; a further invocation shares its rules.
		rules = slices.DeleteFunc(rules, func(r *catenav1.RuleInfo) bool {
			return !slices.ContainsFunc(cfg.Paths[0].GetNfs(), func(nf string) bool { return sameNF(nf, r.GetRule().GetNf()) })
		})
	}
	for _, m := range match {
		cfg.Match = append(cfg.Match, fromClassifier(m))
	}
	cfg.Rules = rules
	return cfg, nil
}

func (a *api) SelectChain(ctx context.Context, m *catenav1.SelectChainRequest) (*catenav1.ChangeReport, error) {
	c, err := a.chain(ctx, m.GetChain())
	if err != nil {
		return nil, err
	}
	return report(a.orch.SelectPath(ctx, c, int(m.GetPath())))
}

func (a *api) DeleteChain(ctx context.Context, m *catenav1.DeleteChainRequest) (*catenav1.ChangeReport, error) {
	c, err := a.chain(ctx, m.GetChain())
	if err != nil {
		return nil, err
	}
	return report(a.orch.DeleteChain(ctx, c, int(m.GetPath())))
}

func (a *api) AddRule(ctx context.Context, m *catenav1.AddRuleRequest) (*catenav1.ChangeReport, error) {
	if m.GetRule().GetNf() == "" || m.GetRule().GetAction() == "" {
		return nil, status.Error(codes.InvalidArgument, "a rule names an NF and an action")
	}
	if m.GetChain() == "" {
		if err := admin(ctx); err != nil {
			return nil, err
		}
		return report(a.orch.AddOperatorRule(ctx, toRule(m.GetRule())))
	}
	c, err := a.chain(ctx, m.GetChain())
	if err != nil {
		return nil, err
	}
	return report(a.orch.AddRule(ctx, c, toRule(m.GetRule())))
}

func (a *api) DeleteRule(ctx context.Context, m *catenav1.DeleteRuleRequest) (*catenav1.ChangeReport, error) {
	if m.GetChain() == "" {
		if err := admin(ctx); err != nil {
			return nil, err
		}
		return report(a.orch.DeleteOperatorRule(ctx, m.GetId()))
	}
	c, err := a.chain(ctx, m.GetChain())
	if err != nil {
		return nil, err
	}
	return report(a.orch.DeleteRule(ctx, c, m.GetId()))
}

func (a *api) ListRules(ctx context.Context, m *catenav1.ListRulesRequest) (*catenav1.ListRulesResponse, error) {
	var list []orch.ChainInfo
	if m.GetChain() != "" {
		c, err := a.chain(ctx, m.GetChain())
		if err != nil {
			return nil, err
		}
		list = []orch.ChainInfo{*c}
	} else {
		var err error
		if list, err = a.chains(ctx, m.GetProject()); err != nil {
			return nil, err
		}
	}
	resp := &catenav1.ListRulesResponse{}
	for i := range list {
		resp.Rules = append(resp.Rules, ruleInfos(&list[i])...)
	}
	for _, r := range a.orch.OperatorRules() {
		resp.Rules = append(resp.Rules, &catenav1.RuleInfo{Id: orch.RuleID(r), Rule: fromRule(r), Shared: true})
	}
	if m.GetNf() != "" {
		resp.Rules = slices.DeleteFunc(resp.Rules, func(r *catenav1.RuleInfo) bool { return !sameNF(m.GetNf(), r.GetRule().GetNf()) })
	}
	return resp, nil
}

func (a *api) GetSwitch(ctx context.Context, _ *catenav1.GetSwitchRequest) (*catenav1.SwitchState, error) {
	if err := admin(ctx); err != nil {
		return nil, err
	}
	st, err := a.orch.SwitchState(ctx)
	if err != nil {
		return nil, err
	}
	list, err := a.chains(ctx, "")
	if err != nil {
		return nil, err
	}
	return fromSwitch(st, list), nil
}

func (a *api) ListNFs(ctx context.Context, _ *catenav1.ListNFsRequest) (*catenav1.ListNFsResponse, error) {
	list, err := a.orch.NFs(ctx)
	if err != nil {
		return nil, err
	}
	resp := &catenav1.ListNFsResponse{}
	for _, nf := range list {
		resp.Nfs = append(resp.Nfs, fromNF(nf))
	}
	return resp, nil
}
