package orch

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/catena-nfv/catena/internal/service"
)

// The operator's rules hold for every chain of every project, but for what a chain's
// own rules say of the same match and priority.

// OperatorRules lists them in the order in which they were added.
func (o *Orchestrator) OperatorRules() []service.Rule {
	o.sw.mu.Lock()
	defer o.sw.mu.Unlock()
	return slices.Clone(o.sw.rules)
}

// AddOperatorRule adds a rule of the operator.
func (o *Orchestrator) AddOperatorRule(ctx context.Context, r service.Rule) (ChangeReport, error) {
	for _, values := range []map[string]string{r.Match, r.Params} {
		for k, v := range values {
			if strings.HasPrefix(v, "@") {
				return ChangeReport{}, fmt.Errorf("%w: %s=%s: a rule of the operator belongs to no service, so it cannot name what is in one; write the address", ErrInvalid, k, v)
			}
		}
	}
	return o.changeOperatorRules(ctx, func(rules []service.Rule) ([]service.Rule, error) {
		for _, old := range rules {
			if RuleID(old) == RuleID(r) {
				return nil, fmt.Errorf("%w: the operator has this rule already, as %s", ErrExists, RuleID(r))
			}
		}
		return append(rules, r), nil
	})
}

// DeleteOperatorRule removes a rule of the operator by its id.
func (o *Orchestrator) DeleteOperatorRule(ctx context.Context, id string) (ChangeReport, error) {
	return o.changeOperatorRules(ctx, func(rules []service.Rule) ([]service.Rule, error) {
		left := slices.DeleteFunc(rules, func(r service.Rule) bool { return RuleID(r) == id })
		if len(left) == len(rules) {
			return nil, fmt.Errorf("rule %q of the operator: %w", id, ErrNotFound)
		}
		return left, nil
	})
}

// changeOperatorRules deploys the changed rules and then keeps them. A crash in between
// leaves entries that nobody was told of; the next deployment removes them.
func (o *Orchestrator) changeOperatorRules(ctx context.Context, f func([]service.Rule) ([]service.Rule, error)) (report ChangeReport, err error) {
	begun := o.now()
	o.sw.deploy.Lock()
	defer o.sw.deploy.Unlock()
	rules, err := f(o.OperatorRules())
	if err != nil {
		return report, err
	}
	cfg := o.sw.with(service.Owner{}, livePart{})
	before := cfg.Rules
	cfg.Rules = switchRules(rules)
	if err := o.fabric.Check(ctx, cfg); err != nil {
		return report, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	if report.Switch, err = o.fabric.Deploy(ctx, cfg, func(service.Stage) {}); err != nil {
		return report, err
	}
	if err := putJSON(ctx, o.store, operatorRulesKey, rules); err != nil {
		cfg.Rules = before
		if _, back := o.fabric.Deploy(context.WithoutCancel(ctx), cfg, func(service.Stage) {}); back != nil {
			o.log.Error("the operator's rules were not taken back", "error", back)
		}
		return report, err
	}
	o.sw.setRules(rules)
	report.Took = o.now().Sub(begun)
	return report, nil
}

// recallOperatorRules reads what an earlier controller kept.
func (o *Orchestrator) recallOperatorRules(ctx context.Context) error {
	var rules []service.Rule
	if _, _, err := getJSON(ctx, o.store, operatorRulesKey, &rules); err != nil {
		return err
	}
	o.sw.setRules(rules)
	return nil
}

func switchRules(rules []service.Rule) []service.SwitchRule {
	var out []service.SwitchRule
	for _, r := range rules {
		out = append(out, service.SwitchRule{Rule: r})
	}
	return out
}
