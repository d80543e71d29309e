package trace

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/catena-nfv/catena/internal/p4rt"
	"github.com/catena-nfv/catena/internal/p4rt/client"
)

// copyState writes to one switch what was written to another, which runs the same
// program.
func copyState(ctx context.Context, from, to *client.Client) error {
	schema, err := from.Schema()
	if err != nil {
		return err
	}
	var all []client.Update
	for _, part := range []func(context.Context, *p4rt.Schema, *client.Client, *client.Client) ([]client.Update, error){
		profiles, tables, replication, registers, valueSets,
	} {
		updates, err := part(ctx, schema, from, to)
		if err != nil {
			return err
		}
		all = append(all, updates...)
	}
	if len(all) == 0 {
		return nil
	}
	return to.Write(ctx, all...)
}

func profiles(ctx context.Context, s *p4rt.Schema, from, _ *client.Client) ([]client.Update, error) {
	var out []client.Update
	for _, p := range s.Profiles.All() {
		name := p.GetPreamble().GetName()
		members, err := from.Members(ctx, name)
		if err != nil {
			return nil, err
		}
		for _, m := range members {
			out = append(out, client.Insert(m))
		}
		if !p.GetWithSelector() {
			continue
		}
		groups, err := from.Groups(ctx, name)
		if err != nil {
			return nil, err
		}
		for _, g := range groups {
			out = append(out, client.Insert(g))
		}
	}
	return out, nil
}

// tables replaces the entries that a program brings with those that there are.
func tables(ctx context.Context, s *p4rt.Schema, from, to *client.Client) ([]client.Update, error) {
	var out []client.Update
	for _, t := range s.Tables.All() {
		own, err := to.Entries(ctx, t.Name())
		if err != nil {
			return nil, err
		}
		for _, e := range own {
			if !e.Const {
				out = append(out, client.Delete(e))
			}
		}
		entries, err := from.Entries(ctx, t.Name())
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if !e.Const {
				e.Counter, e.Meter = nil, nil
				out = append(out, client.Insert(e))
			}
		}
		was, err := to.DefaultAction(ctx, t.Name())
		if err != nil {
			return nil, err
		}
		is, err := from.DefaultAction(ctx, t.Name())
		if err != nil {
			return nil, err
		}
		if is.Action != was.Action || !maps.EqualFunc(is.Params, was.Params, bytes.Equal) {
			out = append(out, client.Modify(is))
		}
	}
	return out, nil
}

func replication(ctx context.Context, _ *p4rt.Schema, from, _ *client.Client) ([]client.Update, error) {
	groups, err := from.Multicasts(ctx)
	if err != nil {
		return nil, err
	}
	clones, err := from.Clones(ctx)
	if err != nil {
		return nil, err
	}
	var out []client.Update
	for _, g := range groups {
		out = append(out, client.Insert(g))
	}
	for _, c := range clones {
		out = append(out, client.Insert(c))
	}
	return out, nil
}

// registers copies the cells that are not zero.
func registers(ctx context.Context, s *p4rt.Schema, from, _ *client.Client) ([]client.Update, error) {
	var out []client.Update
	for _, r := range s.Registers.All() {
		name := r.GetPreamble().GetName()
		cells, err := from.Registers(ctx, name)
		if err != nil {
			return nil, err
		}
		for i, cell := range cells {
			if slices.ContainsFunc(cell, func(b []byte) bool { return len(bytes.TrimLeft(b, "\x00")) > 0 }) {
				out = append(out, client.Modify(client.RegisterCell{Register: name, Index: i, Value: cell}))
			}
		}
	}
	return out, nil
}

func valueSets(ctx context.Context, s *p4rt.Schema, from, _ *client.Client) ([]client.Update, error) {
	var out []client.Update
	for _, v := range s.ValueSets.All() {
		set, err := from.ReadValueSet(ctx, v.GetPreamble().GetName())
		if err != nil {
			return nil, err
		}
		out = append(out, client.Modify(set))
	}
	return out, nil
}
