package p4text

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// sharedInstances declares at the top the objects that more than one control uses.
func (pr *printer) sharedInstances() {
	seen := map[*ir.Instance]int{}
	var order []*ir.Instance
	for _, c := range pr.prog.Controls() {
		mine := map[*ir.Instance]bool{}
		note := func(i *ir.Instance) {
			if i == nil || mine[i] {
				return
			}
			mine[i] = true
			if seen[i] == 0 {
				order = append(order, i)
			}
			seen[i]++
		}
		for _, i := range c.Instances {
			note(i)
		}
		for _, t := range c.Tables {
			note(t.Impl)
			note(t.Counter)
			note(t.Meter)
		}
		used := func(s ir.Stmt) {
			if call, ok := s.(*ir.Call); ok {
				note(call.Inst)
			}
		}
		for _, a := range c.Actions {
			ir.Walk(a.Body, used)
		}
		if c.Body != nil {
			ir.Walk(c.Body.Body, used)
		}
	}
	for _, i := range order {
		if seen[i] > 1 && i.Kind != ir.KindDigest {
			pr.shared[i] = true
			pr.line("")
			pr.objs[i] = pr.global.take(i.Name)
			pr.declareInstance("", i)
		}
	}
}

func (pr *printer) instance(block string, i *ir.Instance) {
	if pr.shared[i] || i.Kind == ir.KindDigest {
		return
	}
	pr.objs[i] = pr.local.take(i.Name)
	pr.declareInstance(block, i)
}

// declareInstance prints the declaration of an extern object in a block.
func (pr *printer) declareInstance(block string, i *ir.Instance) {
	pr.annotationLines(i.Annotations)
	index := fmt.Sprintf("bit<%d>", i.IndexWidth)
	if i.IndexWidth == 0 {
		index = "bit<32>"
	}
	size := fmt.Sprintf("32w%d", i.Size)
	var text string
	switch i.Kind {
	case ir.KindCounter:
		text = fmt.Sprintf("counter<%s>(%s, CounterType.%s)", index, size, i.Unit)
	case ir.KindDirectCounter:
		text = fmt.Sprintf("direct_counter(CounterType.%s)", i.Unit)
	case ir.KindMeter:
		text = fmt.Sprintf("meter<%s>(%s, MeterType.%s)", index, size, i.Unit)
	case ir.KindDirectMeter:
		text = fmt.Sprintf("direct_meter<%s>(MeterType.%s)", pr.typ(i.Elem), i.Unit)
	case ir.KindRegister:
		text = fmt.Sprintf("register<%s, %s>(%s)", pr.typ(i.Elem), index, size)
	case ir.KindFlowState:
		text = fmt.Sprintf("flow_state<%s, %s>(%s)", keyType(i.Key), pr.typ(i.Elem), size)
	case ir.KindActionProfile:
		text = fmt.Sprintf("action_profile(%s)", size)
	case ir.KindActionSelector:
		text = fmt.Sprintf("action_selector(HashAlgorithm.%s, %s, 32w%d)", i.Algorithm, size, i.OutWidth)
	default:
		pr.fail("%s %q cannot be declared", i.Kind, i.FullName)
	}
	pr.line("%s%s %s;", prefix(nameAnnotation(block, pr.objs[i], i.FullName)), text, pr.objs[i])
}

func usesFlowState(p *ir.Program) bool {
	for _, c := range p.Controls() {
		for _, i := range c.Instances {
			if i.Kind == ir.KindFlowState {
				return true
			}
		}
	}
	return false
}

// keyType is the type of a key of numbers of these widths.
func keyType(widths []int) string {
	var fields []string
	for _, w := range widths {
		fields = append(fields, fmt.Sprintf("bit<%d>", w))
	}
	return "tuple<" + strings.Join(fields, ", ") + ">"
}

func prefix(annotation string) string {
	if annotation == "" {
		return ""
	}
	return annotation + " "
}

func (pr *printer) action(block string, a *ir.Action, body []ir.Stmt) {
	// A parameter may hide an object of the control that the action does not use.
	inner := newScope(pr.global)
	ir.Walk(body, func(s ir.Stmt) {
		if c, ok := s.(*ir.Call); ok && c.Inst != nil && c.Inst.Kind != ir.KindDigest {
			inner.taken[pr.object(c.Inst)] = true
		}
	})
	var params []string
	for _, v := range a.Params {
		pr.vars[v] = inner.take(v.Name)
		name := ""
		if pr.vars[v] != v.PlaneName() {
			name = fmt.Sprintf("@name(%q) ", v.PlaneName())
		}
		params = append(params, fmt.Sprintf("%s%s%s %s", inline(v.Annotations), name, pr.declaredType(v.Type, v.TypeName), pr.vars[v]))
		pr.newParams[v] = pr.newtypes[v.TypeName].name != ""
	}
	pr.annotationLines(a.Annotations)
	head := fmt.Sprintf("%saction %s(%s)", prefix(nameAnnotation(block, pr.objs[a], a.FullName)), pr.objs[a], strings.Join(params, ", "))
	if len(body) == 0 {
		pr.line("%s { }", head)
		return
	}
	pr.open("%s", head)
	pr.stmts(body)
	pr.close("")
}

// sharedActions reports whether several actions have one control-plane name, as those of
// the top level that several controls list, and those of P4_14. The compiler takes that
// of programs only that name all their tables absolutely.
func (pr *printer) sharedActions() bool {
	seen := map[string]bool{}
	for _, c := range pr.prog.Controls() {
		for _, a := range c.Actions {
			if seen[a.FullName] && !isNoAction(a) {
				return true
			}
			seen[a.FullName] = true
		}
	}
	return false
}

func (pr *printer) table(block string, t *ir.Table) {
	pr.annotationLines(t.Annotations)
	name := nameAnnotation(block, pr.objs[t], t.FullName)
	if pr.flat {
		name = nameAnnotation("", pr.objs[t], "."+t.FullName)
	}
	pr.open("%stable %s", prefix(name), pr.objs[t])
	if len(t.Keys) > 0 {
		pr.open("key =")
		for _, k := range t.Keys {
			x := pr.asNewtype(k.X, k.TypeName)
			name := ""
			if k.Name != x {
				name = fmt.Sprintf(" @name(%q)", k.Name)
			}
			as := strings.TrimRight(inline(k.Annotations), " ")
			if as != "" {
				as = " " + as
			}
			pr.line("%s: %s%s%s;", x, k.Match, name, as)
		}
		pr.close("")
	}
	pr.open("actions =")
	for _, a := range t.Actions {
		pr.line("%s%s;", scopeOf(a), pr.object(a.Action))
	}
	pr.close("")
	if t.Default != nil && t.Default.Action != nil {
		constant := ""
		if t.ConstDefault {
			constant = "const "
		}
		if !isNoAction(t.Default.Action) || t.ConstDefault {
			pr.line("%sdefault_action = %s;", constant, pr.actionCall(t.Default))
		}
	}
	pr.entries(t)
	if t.Size > 0 {
		pr.line("size = %d;", t.Size)
	}
	if t.Impl != nil {
		pr.line("implementation = %s;", pr.object(t.Impl))
	}
	if t.Counter != nil {
		pr.line("counters = %s;", pr.object(t.Counter))
	}
	if t.Meter != nil {
		pr.line("meters = %s;", pr.object(t.Meter))
	}
	if t.IdleTimeout {
		pr.line("support_timeout = true;")
	}
	pr.close("")
}

// scopeOf gives the annotations of an action in a table's list.
func scopeOf(a *ir.TableAction) string {
	out := ""
	if a.TableOnly && !a.Annotations.Has("tableonly") {
		out += "@tableonly "
	}
	if a.DefaultOnly && !a.Annotations.Has("defaultonly") {
		out += "@defaultonly "
	}
	return out + inline(a.Annotations)
}

// entryKey gives the keyset of an entry.
func (pr *printer) entryKey(k ir.Keyset, key *ir.Key) string {
	n, ok := pr.newtypes[key.TypeName]
	if !ok {
		return pr.keyset(k, key.Type)
	}
	cast := func(text string) string { return n.to + "(" + text + ")" }
	switch k := k.(type) {
	case *ir.KeyExact:
		return cast(pr.value(k.Value, key.Type))
	case *ir.KeyMask:
		return cast(pr.raw(k.Value, key.Type)) + " &&& " + cast(pr.raw(k.Mask, key.Type))
	case *ir.KeyRange:
		return cast(pr.value(k.Lo, key.Type)) + " .. " + cast(pr.value(k.Hi, key.Type))
	}
	return pr.keyset(k, key.Type)
}

func (pr *printer) actionCall(c *ir.ActionCall) string {
	args := make([]string, len(c.Args))
	for i, a := range c.Args {
		args[i] = pr.asNewtype(a, c.Action.Params[i].TypeName)
	}
	return fmt.Sprintf("%s(%s)", pr.object(c.Action), strings.Join(args, ", "))
}

// entries prints the entries that the program gives. With `const entries` the order
// is the priority; else priorities are written out.
func (pr *printer) entries(t *ir.Table) {
	if len(t.Entries) == 0 {
		return
	}
	var keys []*ir.Key
	priorities := false
	for _, k := range t.Keys {
		if k.Match != ir.MatchSelector {
			keys = append(keys, k)
		}
		if k.Match == ir.MatchTernary || k.Match == ir.MatchRange || k.Match == ir.MatchOptional {
			priorities = true
		}
	}
	es := slices.Clone(t.Entries)
	constant := ""
	if t.ConstEntries {
		constant = "const "
		if priorities {
			sort.SliceStable(es, func(i, j int) bool { return es[i].Priority > es[j].Priority })
		}
	}
	pr.open("%sentries =", constant)
	for _, e := range es {
		var parts []string
		for i, k := range e.Keys {
			if i < len(keys) {
				parts = append(parts, pr.entryKey(k, keys[i]))
			}
		}
		head, tail := "", strings.TrimRight(inline(e.Annotations), " ")
		if tail != "" {
			tail = " " + tail
		}
		if e.Const && !t.ConstEntries {
			head += "const "
		}
		if priorities && !t.ConstEntries {
			head += fmt.Sprintf("priority = %d: ", e.Priority)
		}
		key := "(" + strings.Join(parts, ", ") + ")"
		if len(parts) == 1 {
			key = parts[0]
		}
		pr.line("%s%s: %s%s;", head, key, pr.actionCall(e.Action), tail)
	}
	pr.close("")
}
