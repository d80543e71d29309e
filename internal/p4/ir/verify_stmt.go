package ir

import "math/big"

// body checks the statements of an action, a state or a control.
func (v *verifier) body(ss []Stmt) {
	for _, s := range ss {
		v.stmt(s)
	}
}

func (v *verifier) stmt(s Stmt) {
	if s == nil {
		v.errorf("a statement is missing")
		return
	}
	if v.stmts[s] {
		v.errorf("one %T stands in two places", s)
		return
	}
	v.stmts[s] = true
	switch s := s.(type) {
	case *Assign:
		dst, src := v.lvalue(s.Dst), v.expr(s.Src)
		if dst != nil && src != nil && !Equal(dst, src) {
			v.errorf("%s is assigned to a place of type %s", src, dst)
		}
	case *If:
		v.boolean("the condition of an if", s.Cond)
		v.body(s.Then)
		v.body(s.Else)
	case *Switch:
		t := v.expr(s.X)
		for _, c := range s.Cases {
			for _, k := range c.Values {
				if k == nil || t != nil && !Equal(k.T, t) {
					v.errorf("a case of a switch on %s is of another type", t)
				}
			}
			v.body(c.Body)
		}
		v.body(s.Default)
	case *Apply:
		v.apply(s)
	case *Call:
		v.call(s)
	case *Block:
		v.blocks[s] = true
		v.body(s.Body)
		delete(v.blocks, s)
	case *Leave:
		if !v.blocks[s.Block] {
			v.errorf("a jump to the end of a block that does not enclose it")
		}
	case *Loop:
		v.body(s.Body)
	case *Exit:
		if v.parser {
			v.errorf("an exit in the parser")
		}
	default:
		v.errorf("unknown statement %T", s)
	}
}

func (v *verifier) apply(s *Apply) {
	if s.Table == nil || !v.tables[s.Table] {
		v.errorf("a table is applied that the control does not have")
		return
	}
	if v.action || v.parser {
		v.errorf("table %s is applied in an action or the parser", s.Table.Name)
	}
	if s.Hit != nil {
		if t := v.lvalue(s.Hit); t != nil && !Equal(t, &Bool{}) {
			v.errorf("the hit of table %s goes to a %s", s.Table.Name, t)
		}
	}
	for _, c := range s.Cases {
		for _, a := range c.Actions {
			if !lists(s.Table, a) {
				v.errorf("a case of table %s is not one of its actions", s.Table.Name)
			}
		}
		v.body(c.Body)
	}
}

// lists reports whether a table can run an action.
func lists(t *Table, a *Action) bool {
	for _, x := range t.Actions {
		if x.Action == a {
			return true
		}
	}
	return t.Default != nil && t.Default.Action == a
}

// where says in which blocks an operation may stand.
type where int

const (
	anywhere where = iota
	parserOnly
	controlOnly
)

// operations has the numbers of arguments, whether there is a result, the kind of
// object and the place of every operation. A result of `extract` and `lookahead`
// may be of any type.
var operations = map[Op]struct {
	min, max int
	dst      bool
	inst     InstanceKind
	where    where
}{
	OpSetValid:   {min: 1, max: 1},
	OpSetInvalid: {min: 1, max: 1},
	OpPushFront:  {min: 2, max: 2},
	OpPopFront:   {min: 2, max: 2},

	OpExtract:   {max: 1, dst: true, where: parserOnly},
	OpLookahead: {dst: true, where: parserOnly},
	OpAdvance:   {min: 1, max: 1, where: parserOnly},
	OpLength:    {dst: true, where: parserOnly},
	OpVerify:    {min: 2, max: 2, where: parserOnly},

	OpEmit: {min: 1, max: 1, where: controlOnly},

	OpMarkToDrop:        {},
	OpHash:              {min: 4, max: 4, dst: true},
	OpRandom:            {min: 2, max: 2, dst: true},
	OpDigest:            {min: 2, max: 2, inst: KindDigest},
	OpClone:             {min: 2, max: 2},
	OpClonePreserving:   {min: 3, max: 3},
	OpResubmit:          {min: 1, max: 1},
	OpRecirculate:       {min: 1, max: 1},
	OpTruncate:          {min: 1, max: 1},
	OpVerifyChecksum:    {min: 4, max: 4},
	OpVerifyChecksumPay: {min: 4, max: 4},
	OpUpdateChecksum:    {min: 3, max: 3, dst: true},
	OpUpdateChecksumPay: {min: 3, max: 3, dst: true},
	OpAssert:            {min: 1, max: 1},
	OpAssume:            {min: 1, max: 1},
	OpLogMsg:            {min: 1, max: 2},

	OpCount:       {min: 1, max: 1, inst: KindCounter, where: controlOnly},
	OpDirectCount: {inst: KindDirectCounter, where: controlOnly},
	OpMeter:       {min: 1, max: 1, dst: true, inst: KindMeter, where: controlOnly},
	OpDirectMeter: {dst: true, inst: KindDirectMeter, where: controlOnly},
	OpRegRead:     {min: 1, max: 1, dst: true, inst: KindRegister, where: controlOnly},
	OpRegWrite:    {min: 2, max: 2, inst: KindRegister, where: controlOnly},
	OpFlowRead:    {min: 1, max: 1, dst: true, inst: KindFlowState, where: controlOnly},
	OpFlowWrite:   {min: 3, max: 3, inst: KindFlowState, where: controlOnly},
}

func (v *verifier) call(s *Call) {
	o, ok := operations[s.Op]
	if !ok {
		v.errorf("unknown operation %q", s.Op)
		return
	}
	if len(s.Args) < o.min || len(s.Args) > o.max {
		v.errorf("%s has %d arguments", s.Op, len(s.Args))
		return
	}
	if o.dst != (s.Dst != nil) {
		v.errorf("%s: there is a result where there is none, or none where there is one", s.Op)
	}
	if o.where == parserOnly && !v.parser || o.where == controlOnly && v.parser {
		v.errorf("%s does not belong here", s.Op)
	}
	switch {
	case o.inst == "" && s.Inst != nil:
		v.errorf("%s is no method, but has an object", s.Op)
	case o.inst != "" && s.Inst == nil:
		v.errorf("%s has no object", s.Op)
	case o.inst != "" && s.Inst.Kind != o.inst:
		v.errorf("%s of a %s", s.Op, s.Inst.Kind)
	case o.inst != "" && !v.instances[s.Inst]:
		v.errorf("%s of %s, which the control does not have", s.Op, s.Inst.Name)
	}
	if s.Dst != nil {
		v.lvalue(s.Dst)
	}
	types := make([]Type, len(s.Args))
	for i, a := range s.Args {
		if _, ok := a.(*StringLit); ok && s.Op == OpLogMsg && i == 0 {
			continue
		}
		types[i] = v.expr(a)
	}
	v.arguments(s, types)
}

// arguments checks those whose type matters to every pass.
func (v *verifier) arguments(s *Call, types []Type) {
	switch s.Op {
	case OpSetValid, OpSetInvalid, OpEmit:
		switch types[0].(type) {
		case *Header, *Union, *Stack:
			v.lvalue(s.Args[0])
		default:
			v.errorf("%s of a %s", s.Op, types[0])
		}
	case OpPushFront, OpPopFront:
		if _, ok := types[0].(*Stack); !ok {
			v.errorf("%s of a %s", s.Op, types[0])
		}
		if _, ok := s.Args[1].(*Const); !ok {
			v.errorf("%s by what is no literal", s.Op)
		}
		v.lvalue(s.Args[0])
	case OpVerify:
		if !Equal(types[1], &ErrorType{}) {
			v.errorf("verify with a %s for an error", types[1])
		}
		v.isBool("verify", types[0])
	case OpAssert, OpAssume, OpVerifyChecksum, OpVerifyChecksumPay, OpUpdateChecksum, OpUpdateChecksumPay:
		v.isBool(string(s.Op), types[0])
	}
}

func (v *verifier) boolean(what string, e Expr) { v.isBool(what, v.expr(e)) }

func (v *verifier) isBool(what string, t Type) {
	if _, ok := t.(*Bool); t != nil && !ok {
		v.errorf("%s is a %s, not a bool", what, t)
	}
}

// lvalue checks an expression that is written to, and returns its type.
func (v *verifier) lvalue(e Expr) Type {
	if e == nil {
		v.errorf("a destination is missing")
		return nil
	}
	if Root(e) == nil {
		v.errorf("a %T is no place to write to", e)
		return nil
	}
	return v.expr(e)
}

// value checks that a number is one of a type.
func (v *verifier) value(t Type, x *big.Int) {
	if x == nil {
		v.errorf("a literal has no value")
		return
	}
	switch t := t.(type) {
	case *Bits:
		if lo, hi := Range(t); x.Cmp(lo) < 0 || x.Cmp(hi) > 0 {
			v.errorf("%s is no value of %s", x, t)
		}
	case *SerEnum:
		v.value(t.Under, x)
	case *Bool:
		if !x.IsInt64() || x.Int64() < 0 || x.Int64() > 1 {
			v.errorf("%s is no value of bool", x)
		}
	case *Enum:
		if !x.IsInt64() || x.Int64() < 0 || x.Int64() >= int64(len(t.Members)) {
			v.errorf("%s is no value of enum %s", x, t.Name)
		}
	case *ErrorType:
		if !x.IsInt64() || x.Int64() < 0 || x.Int64() >= int64(len(v.p.Errors)) {
			v.errorf("%s is no error", x)
		}
	}
}
