package service

import (
	"bytes"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/catena-nfv/catena/internal/p4/diag"
)

// Limits of one request; beyond them it is refused before anything is computed.
const (
	MaxSourceBytes = 4 << 20
	maxNesting     = 64
	maxFields      = 2000   // of one mapping, see excessive
	maxItems       = 50_000 // of lists at the same indentation
	maxFlow        = 5000   // fields and items of one flow collection
	MaxNetworks    = 256
	MaxInstances   = 1000 // servers and functions; a switch has 509 ports
	MaxChains      = 1000
	MaxRules       = 100_000
	MaxGroups      = 256 // security groups, and those of one port
	MaxKeyPairs    = 100
)

// Parse reads one service from YAML, fills in defaults and checks it. name is
// the file's, for messages. The error is an *Error with every problem found, or
// nil. The source is returned also when the service is good, so that problems
// found later (in chains, by the fabric) can be placed.
//
// Reading is strict: unknown and repeated fields are errors.
func Parse(name string, text []byte) (*Service, *Source, error) {
	src := newSource(name, text)
	d := &decoder{src: src, anchors: map[string]ast.Node{}}
	body := d.parse(text)
	if body == nil {
		return nil, src, NewError(src, d.problems)
	}
	svc := &Service{}
	d.service(svc, body)
	if len(d.problems) > 0 {
		return nil, src, NewError(src, d.problems)
	}
	svc.Default()
	if err := NewError(src, svc.Validate()); err != nil {
		return nil, src, err
	}
	return svc, src, nil
}

// decoder walks a YAML tree and appends what is wrong with it.
type decoder struct {
	src      *Source
	anchors  map[string]ast.Node
	problems []Problem
}

// parse gives the one document's body, or nil after a problem.
func (d *decoder) parse(text []byte) ast.Node {
	if len(text) > MaxSourceBytes {
		d.problems = append(d.problems, Problem{Code: CodeLimit, Line: 1, Column: 1,
			Message: fmt.Sprintf("the file has %d bytes, the limit is %d", len(text), MaxSourceBytes)})
		return nil
	}
	if line, col, what := excessive(text); what != "" {
		d.problems = append(d.problems, Problem{Code: CodeLimit, Line: line, Column: col, Message: what})
		return nil
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		p := Problem{Code: CodeSyntax, Line: 1, Column: 1}
		var ye yaml.Error
		if !errors.As(err, &ye) {
			p.Message = "malformed YAML: " + firstLine(err.Error())
		} else {
			p.Message = "malformed YAML: " + firstLine(ye.GetMessage())
			if tk := ye.GetToken(); tk != nil && tk.Position != nil {
				p.Line, p.Column = tk.Position.Line, tk.Position.Column
			}
		}
		d.problems = append(d.problems, p)
		return nil
	}
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if body != nil {
			d.at(doc.Body, "", CodeSyntax, "a file holds one service, but here begins a second document")
			return nil
		}
		body = doc.Body
	}
	if body == nil {
		d.problems = append(d.problems, Problem{Code: CodeMissing, Line: 1, Column: 1,
			Message: "the file is empty; a service has at least a name and one network"})
	}
	return body
}

// excessive guards the parser, which is recursive, and quadratic in the fields
// of one mapping, against inputs made to exhaust it: it bounds how deep flow
// collections and the indicators that begin a line are nested, and how many
// fields a mapping has, in its block or its flow form. It errs on the safe side
// of what text looks like, so the bounds are far beyond any real service.
func excessive(text []byte) (line, col int, what string) {
	depth := 0                     // of flow collections
	var colons [maxNesting + 2]int // fields seen in the flow collection of each depth
	fields := make(map[int]int)    // by indentation: lines of the block mapping that goes on there
	items := make(map[int]int)     // by indentation: list items in the whole text
	deepest := 0                   // largest indentation in fields
	for n, l := range bytes.Split(text, []byte("\n")) {
		indent := len(l) - len(bytes.TrimLeft(l, " "))
		rest := l[indent:]
		if len(rest) == 0 || rest[0] == '#' || rest[0] == '\r' {
			continue
		}
		for i := indent + 1; i <= deepest; i++ { // deeper mappings have ended
			delete(fields, i)
		}
		deepest = indent
		if rest[0] == '-' {
			if items[indent]++; items[indent] > maxItems {
				return n + 1, indent + 1, fmt.Sprintf("more than %d items in lists", maxItems)
			}
		} else if depth == 0 {
			if fields[indent]++; fields[indent] > maxFields {
				return n + 1, indent + 1, fmt.Sprintf("more than %d fields in one mapping", maxFields)
			}
		}
		leading, dashes := true, 0
		if depth == 0 {
			colons[0] = 0
		}
		for i, c := range l {
			last := i+1 == len(l) || l[i+1] == ' ' || l[i+1] == '\t' || l[i+1] == '\r'
			switch {
			case c == '[' || c == '{':
				if depth++; depth > maxNesting {
					return n + 1, i + 1, fmt.Sprintf("nested deeper than %d levels", maxNesting)
				}
				colons[depth] = 0
			case c == ']' || c == '}':
				depth = max(depth-1, 0)
			case c == ':' || c == ',' && depth > 0:
				if colons[depth]++; colons[depth] > maxFlow {
					return n + 1, i + 1, fmt.Sprintf("more than %d fields or items in one flow collection; write it in block form", maxFlow)
				}
			case leading && last && (c == '-' || c == '?'):
				if dashes++; dashes > maxNesting {
					return n + 1, i + 1, fmt.Sprintf("nested deeper than %d levels", maxNesting)
				}
			}
			if c != '-' && c != '?' && c != ' ' && c != '\t' {
				leading = false
			}
		}
	}
	return 0, 0, ""
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// at appends a problem at a node.
func (d *decoder) at(n ast.Node, path string, code diag.Code, format string, args ...any) {
	p := Problem{Path: path, Code: code, Message: fmt.Sprintf(format, args...), Line: 1, Column: 1}
	if tk := n.GetToken(); tk != nil && tk.Position != nil {
		p.Line, p.Column = tk.Position.Line, tk.Position.Column
	}
	d.problems = append(d.problems, p)
}

// resolve follows anchors, aliases and tags to the value.
func (d *decoder) resolve(n ast.Node) ast.Node {
	for range maxNesting {
		switch v := n.(type) {
		case *ast.AnchorNode:
			d.anchors[v.Name.String()] = v.Value
			n = v.Value
		case *ast.AliasNode:
			target, ok := d.anchors[v.Value.String()]
			if !ok {
				return n
			}
			n = target
		case *ast.TagNode:
			n = v.Value
		default:
			return n
		}
	}
	return n
}

// field is one allowed field of a mapping and how it is read.
type field struct {
	name string
	read func(n ast.Node, path string)
}

// object reads a mapping. what names it in messages ("a network").
func (d *decoder) object(n ast.Node, path, what string, fields []field) {
	pairs, ok := d.pairs(n, path, what)
	if !ok {
		return
	}
	for _, kv := range pairs {
		name := kv.Key.GetToken().Value
		i := 0
		for i < len(fields) && fields[i].name != name {
			i++
		}
		if i == len(fields) {
			names := make([]string, len(fields))
			for i, f := range fields {
				names[i] = f.name
			}
			d.at(kv.Key, join(path, name), CodeField, "%s has no field %q%s", what, name, suggest(name, names))
			continue
		}
		v := d.resolve(kv.Value)
		sub := join(path, name)
		d.src.mark(sub, v)
		if _, null := v.(*ast.NullNode); null {
			d.at(kv.Key, sub, CodeMissing, "%s: field %q has no value", what, name)
			continue
		}
		fields[i].read(v, sub)
	}
}

// pairs gives a mapping's entries, in both forms that the parser has.
func (d *decoder) pairs(n ast.Node, path, what string) ([]*ast.MappingValueNode, bool) {
	var pairs []*ast.MappingValueNode
	switch m := n.(type) {
	case *ast.MappingNode:
		pairs = m.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{m}
	default:
		d.at(n, path, CodeType, "%s is written as a mapping (field: value), not as %s", what, typeName(n))
		return nil, false
	}
	for _, kv := range pairs {
		if kv.Key.IsMergeKey() {
			d.at(kv.Key, path, CodeSyntax, "merge keys (<<) are not supported; write the fields out")
			return nil, false
		}
	}
	return pairs, true
}

// list reads a sequence and calls read with each element and its path.
func (d *decoder) list(n ast.Node, path string, limit int, read func(n ast.Node, path string, i int)) {
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		d.at(n, path, CodeType, "%s is a list (- item), not %s", path, typeName(n))
		return
	}
	if len(seq.Values) > limit {
		d.at(n, path, CodeLimit, "%s has %d items, the limit is %d", path, len(seq.Values), limit)
		return
	}
	for i, v := range seq.Values {
		v = d.resolve(v)
		sub := fmt.Sprintf("%s[%d]", path, i)
		d.src.mark(sub, v)
		read(v, sub, i)
	}
}

// text reads a scalar as it is written. Numbers are texts too; a yes/no is not,
// since it seldom is what was meant.
func (d *decoder) text(dst *string) func(ast.Node, string) {
	return func(n ast.Node, path string) {
		switch v := n.(type) {
		case *ast.StringNode:
			*dst = v.Value
		case *ast.LiteralNode:
			*dst = v.Value.Value
		case *ast.IntegerNode, *ast.FloatNode:
			*dst = n.GetToken().Value
		default:
			d.at(n, path, CodeType, "%s is a text, not %s; put it in quotes if it is meant so", path, typeName(n))
		}
	}
}

func (d *decoder) texts(dst *[]string, limit int) func(ast.Node, string) {
	return func(n ast.Node, path string) {
		d.list(n, path, limit, func(n ast.Node, path string, _ int) {
			var s string
			d.text(&s)(n, path)
			*dst = append(*dst, s)
		})
	}
}

// textMap reads a mapping of texts with free keys.
func (d *decoder) textMap(dst *map[string]string) func(ast.Node, string) {
	return func(n ast.Node, path string) {
		pairs, ok := d.pairs(n, path, path)
		if !ok {
			return
		}
		*dst = map[string]string{}
		for _, kv := range pairs {
			var s string
			key := kv.Key.GetToken().Value
			v := d.resolve(kv.Value)
			d.src.mark(join(path, key), v)
			d.text(&s)(v, join(path, key))
			(*dst)[key] = s
		}
	}
}

func (d *decoder) number(dst *int) func(ast.Node, string) {
	return func(n ast.Node, path string) {
		if v, ok := n.(*ast.IntegerNode); ok {
			if i, err := strconv.ParseInt(fmt.Sprint(v.Value), 10, 32); err == nil {
				*dst = int(i)
				return
			}
			d.at(n, path, CodeValue, "%s: %s is out of range", path, n.GetToken().Value)
			return
		}
		d.at(n, path, CodeType, "%s is a whole number, not %s", path, typeName(n))
	}
}

func (d *decoder) boolean(dst *bool) func(ast.Node, string) {
	return func(n ast.Node, path string) {
		if v, ok := n.(*ast.BoolNode); ok {
			*dst = v.Value
			return
		}
		d.at(n, path, CodeType, "%s is true or false, not %s", path, typeName(n))
	}
}

// parsed reads a text and converts it; the message of parse's error is used.
func parsed[T any](d *decoder, dst *T, parse func(string) (T, error)) func(ast.Node, string) {
	return func(n ast.Node, path string) {
		before := len(d.problems)
		var s string
		d.text(&s)(n, path)
		if len(d.problems) > before {
			return
		}
		v, err := parse(s)
		if err != nil {
			d.at(n, path, CodeValue, "%s: %v", path, err)
			return
		}
		*dst = v
	}
}

// mark remembers where a value stands.
func (s *Source) mark(path string, n ast.Node) {
	tk := n.GetToken()
	if tk == nil || tk.Position == nil {
		return
	}
	sp := valueSpan{start: s.offset(tk.Position.Line, tk.Position.Column)}
	switch v := n.(type) {
	case *ast.LiteralNode:
		// The text begins on the line below the indicator.
		line, _ := s.lineColumn(sp.start)
		sp.block = true
		sp.start = s.offset(line+1, 1)
		for sp.start+sp.indent < len(s.text) && s.text[sp.start+sp.indent] == ' ' {
			sp.indent++
		}
		sp.end = min(sp.start+len(v.Value.Value)+sp.indent, len(s.text))
	case *ast.StringNode:
		if sp.start < len(s.text) && (s.text[sp.start] == '"' || s.text[sp.start] == '\'') {
			sp.start++
		}
		sp.end = min(sp.start+len(v.Value), len(s.text))
	case *ast.MappingNode, *ast.MappingValueNode, *ast.SequenceNode:
		if m, ok := n.(*ast.MappingNode); ok && len(m.Values) > 0 && !m.IsFlowStyle {
			tk = m.Values[0].Key.GetToken()
			sp.start = s.offset(tk.Position.Line, tk.Position.Column)
		} else if m, ok := n.(*ast.MappingValueNode); ok {
			tk = m.Key.GetToken()
			sp.start = s.offset(tk.Position.Line, tk.Position.Column)
		}
		sp.end = sp.start + len(tk.Value)
	default:
		sp.end = sp.start + len(tk.Value)
	}
	// A value that is not written out has a token of the parser's own.
	sp.start = min(sp.start, len(s.text))
	sp.end = min(max(sp.end, sp.start), len(s.text))
	s.spans[path] = sp
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func typeName(n ast.Node) string {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "a number"
	case *ast.BoolNode:
		return "a yes/no"
	case *ast.NullNode:
		return "nothing"
	case *ast.AliasNode:
		return "an alias without an anchor"
	}
	return "a text"
}

// suggest gives a hint: the nearest of the known names, or all of them.
func suggest(name string, known []string) string {
	best, dist := "", min(3, (len(name)+1)/2)
	for _, k := range known {
		if n := editDistance(name, k); n < dist {
			best, dist = k, n
		}
	}
	if best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	if len(known) == 0 {
		return ""
	}
	sorted := append([]string(nil), known...)
	sort.Strings(sorted)
	return "; known: " + strings.Join(sorted, ", ")
}

// editDistance is Levenshtein's, for short names.
func editDistance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
