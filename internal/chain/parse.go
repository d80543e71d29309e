package chain

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Limits that keep a hostile request from taking the machine.
const (
	DefaultMaxPaths = 1024    // paths of one request
	DefaultMaxLoops = 4       // recirculations of one packet
	MaxNFs          = 512     // NF invocations of one request
	MaxText         = 4 << 20 // bytes of one text
)

// Options says how Parse reads a text. The zero value is usable.
type Options struct {
	File     string              // shown in positions; default "request"
	Name     string              // base name of the requests; default File without folder and ending
	Tables   func(nf string) int // P4 tables of an NF; nil or a result below 1 counts as one
	MaxPaths int                 // 0: DefaultMaxPaths
	MaxLoops int                 // 0: DefaultMaxLoops
}

func (o Options) withDefaults() Options {
	if o.File == "" {
		o.File = "request"
	}
	if o.Name == "" {
		base := path.Base(strings.ReplaceAll(o.File, "\\", "/"))
		o.Name = strings.TrimSuffix(base, path.Ext(base))
	}
	if o.MaxPaths == 0 {
		o.MaxPaths = DefaultMaxPaths
	}
	if o.MaxLoops == 0 {
		o.MaxLoops = DefaultMaxLoops
	}
	return o
}

// Parse reads one or more requests and returns their graphs in the order written. A single request
// is named Options.Name, several are named NAME-1, NAME-2 and so on. The error is a Problems, except
// for a text beyond MaxText.
func Parse(src string, opt Options) ([]DAG, error) {
	opt = opt.withDefaults()
	if len(src) > MaxText {
		return nil, fmt.Errorf("%s: %d bytes of request text, the limit is %d", opt.File, len(src), MaxText)
	}
	r := newReporter(opt.File, src)
	p := &parser{toks: lex(src, r), r: r}
	requests := p.file()
	if len(requests) == 0 && len(r.found) == 0 {
		r.at(p.peek().pos, 1, nil, "no request found: write at least one clause, such as `A before B`")
	}
	var dags []DAG
	for i, req := range requests {
		name := opt.Name
		if len(requests) > 1 {
			name = fmt.Sprintf("%s-%d", opt.Name, i+1)
		}
		if d, ok := build(req, name, opt, r); ok {
			dags = append(dags, d)
		}
	}
	slices.SortStableFunc(r.found, func(a, b *Problem) int { return a.Pos.Offset - b.Pos.Offset })
	if err := r.err(); err != nil {
		return nil, err
	}
	return dags, nil
}

// clauseKind is the primitive that a clause uses.
type clauseKind int

const (
	clauseBefore clauseKind = iota
	clauseThen
	clauseFirst
	clauseLast
	clauseLoop
)

// clause is one primitive of Table I. nfs holds, for before: all NFs in order; for then: the
// branching NF and its branches; otherwise the one NF. end is set for branch_end.
type clause struct {
	kind clauseKind
	nfs  []token
	end  *token
}

// request is the clauses up to End_of_Request; broken when a clause did not parse, so that nothing is
// concluded from what is left.
type request struct {
	clauses []clause
	start   token
	broken  bool
}

type parser struct {
	toks []token
	i    int
	r    *reporter
}

func (p *parser) peek() token { return p.toks[p.i] }

func (p *parser) next() token {
	t := p.toks[p.i]
	if t.kind != tokEOF {
		p.i++
	}
	return t
}

// file reads all requests.
func (p *parser) file() []request {
	var out []request
	cur := request{}
	open := false // something was read since the last End_of_Request
	for {
		t := p.peek()
		switch t.kind {
		case tokSeparator:
			p.next()
		case tokEOF:
			if open {
				out = append(out, cur)
			}
			return out
		case tokEndOfRequest:
			p.next()
			if !open {
				p.r.at(t.pos, t.width, nil, "empty request: no clause before End_of_Request")
			} else {
				out = append(out, cur)
			}
			cur, open = request{}, false
		default:
			if !open {
				cur.start, open = t, true
			}
			c, ok := p.clause()
			if ok {
				cur.clauses = append(cur.clauses, c)
			} else {
				cur.broken = true
				p.skip()
			}
		}
	}
}

// skip goes to the next separator after an error, so that each broken clause is reported once.
func (p *parser) skip() {
	for k := p.peek().kind; k != tokSeparator && k != tokEOF && k != tokEndOfRequest; k = p.peek().kind {
		p.next()
	}
}

func (p *parser) clause() (clause, bool) {
	nf, ok := p.nf("at the start of a clause")
	if !ok {
		return clause{}, false
	}
	c := clause{nfs: []token{nf}}
	t := p.next()
	switch t.kind {
	case tokBefore:
		c.kind = clauseBefore
		for {
			b, ok := p.nf("after `before`")
			if !ok {
				return c, false
			}
			c.nfs = append(c.nfs, b)
			if p.peek().kind != tokBefore {
				break
			}
			p.next()
		}
	case tokThen:
		c.kind = clauseThen
		if !p.branches(&c) {
			return c, false
		}
	case tokFirst:
		c.kind = clauseFirst
	case tokLast:
		c.kind = clauseLast
	case tokLoop:
		c.kind = clauseLoop
	default:
		p.back(t)
		p.r.at(t.pos, t.width, nil, "expected before, then, first, last or loop after %s, found %s", nf.name(), t.describe())
		return c, false
	}
	return c, p.endClause("the clause of " + nf.name())
}

// branches reads `B or C [or D ...] [and branch_end=E]`.
func (p *parser) branches(c *clause) bool {
	after := "after `then`"
	for {
		b, ok := p.nf(after)
		if !ok {
			return false
		}
		c.nfs = append(c.nfs, b)
		if p.peek().kind != tokOr {
			break
		}
		p.next()
		after = "after `or`"
	}
	if len(c.nfs) < 3 {
		t := p.peek()
		p.r.at(t.pos, t.width, []string{fmt.Sprintf("for a single successor write `%s before %s`", c.nfs[0].name(), c.nfs[1].name())},
			"`then` needs two branches or more: expected `or` after %s, found %s", c.nfs[1].name(), t.describe())
		return false
	}
	if p.peek().kind != tokAnd {
		return true
	}
	p.next()
	for _, want := range []struct {
		kind tokenKind
		text string
	}{{tokBranchEnd, "`branch_end`"}, {tokEquals, "`=`"}} {
		if t := p.peek(); t.kind != want.kind {
			p.r.at(t.pos, t.width, nil, "expected %s in `and branch_end=NF`, found %s", want.text, t.describe())
			return false
		}
		p.next()
	}
	e, ok := p.nf("after `branch_end=`")
	c.end = &e
	return ok
}

// nf reads an NF name.
func (p *parser) nf(where string) (token, bool) {
	t := p.peek()
	if t.kind == tokName {
		p.next()
		return t, true
	}
	var notes []string
	if t.kind >= tokBefore {
		notes = []string{fmt.Sprintf("`%s` is a word of the language and cannot name an NF", t.text)}
	}
	p.r.at(t.pos, t.width, notes, "expected the name of an NF %s, found %s", where, t.describe())
	return t, false
}

// endClause checks that nothing but a separator follows; End_of_Request separates by itself.
func (p *parser) endClause(what string) bool {
	t := p.peek()
	if t.kind == tokSeparator || t.kind == tokEOF || t.kind == tokEndOfRequest {
		return true
	}
	p.r.at(t.pos, t.width, []string{"each primitive is a clause of its own: `A before B, B then C or D`"},
		"expected a comma or a new line after %s, found %s", what, t.describe())
	p.skip()
	return false
}

// back undoes next, which does not move at the end.
func (p *parser) back(t token) {
	if t.kind != tokEOF {
		p.i--
	}
}
