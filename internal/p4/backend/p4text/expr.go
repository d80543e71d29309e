package p4text

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// literal gives a number with its type: 16w0x800, 8s5.
func literal(v *big.Int, t *ir.Bits) string {
	if !t.Signed {
		return fmt.Sprintf("%dw%s", t.Width, digits(v, t.Width))
	}
	if v.Sign() >= 0 {
		return fmt.Sprintf("%ds%s", t.Width, digits(v, t.Width))
	}
	// The smallest number has no positive counterpart, so negative numbers are
	// written by their bits.
	bits := new(big.Int).Add(v, new(big.Int).Lsh(big.NewInt(1), uint(t.Width)))
	return fmt.Sprintf("(int<%d>)%dw%s", t.Width, t.Width, digits(bits, t.Width))
}

// digits is decimal for small and narrow numbers, else hexadecimal.
func digits(v *big.Int, width int) string {
	if v.Sign() < 0 || width <= 9 || v.BitLen() <= 4 && v.Int64() < 10 {
		return v.String()
	}
	return fmt.Sprintf("0x%x", v)
}

// value gives a constant of any scalar type.
func (pr *printer) value(v *big.Int, t ir.Type) string {
	switch t := t.(type) {
	case *ir.Bits:
		return literal(v, t)
	case *ir.Bool:
		return strconv.FormatBool(v.Sign() != 0)
	case *ir.Enum:
		if v.IsInt64() && v.Sign() >= 0 && v.Int64() < int64(len(t.Members)) {
			return pr.typ(t) + "." + t.Members[v.Int64()]
		}
	case *ir.ErrorType:
		if v.IsInt64() && v.Sign() >= 0 && v.Int64() < int64(len(pr.prog.Errors)) {
			return "error." + pr.prog.Errors[v.Int64()]
		}
	case *ir.SerEnum:
		for _, m := range t.Members {
			if m.Value.Value.Cmp(v) == 0 {
				return pr.typ(t) + "." + m.Name
			}
		}
		return fmt.Sprintf("(%s)%s", pr.typ(t), literal(v, t.Under))
	}
	pr.fail("%s is no value of %s", v, t)
	return v.String()
}

// expr gives an expression.
func (pr *printer) expr(e ir.Expr) string {
	switch e := e.(type) {
	case *ir.Const:
		return pr.value(e.Value, e.T)
	case *ir.StringLit:
		return strconv.Quote(e.Value)
	case *ir.VarRef:
		if n, ok := pr.vars[e.Var]; ok {
			if pr.newParams[e.Var] {
				return pr.newtypes[e.Var.TypeName].from + n
			}
			return n
		}
		pr.fail("variable %s is used but not declared in its block", e.Var.Name)
		return identifier(e.Var.Name)
	case *ir.Member:
		if pr.cloaked(e) {
			return pr.newtypes[e.Field.TypeName].from + pr.place(e)
		}
		return pr.place(e)
	case *ir.Index:
		return pr.index(e)
	case *ir.Slice:
		return fmt.Sprintf("%s[%d:%d]", pr.primary(e.X), e.Hi, e.Lo)
	case *ir.Unary:
		return string(e.Op) + pr.primary(e.X)
	case *ir.Binary:
		return pr.operand(e.X, e, false) + " " + string(e.Op) + " " + pr.operand(e.Y, e, true)
	case *ir.Cast:
		return fmt.Sprintf("(%s)%s", pr.typ(e.T), pr.primary(e.X))
	case *ir.Mux:
		return fmt.Sprintf("%s ? %s : %s", pr.primary(e.Cond), pr.primary(e.Then), pr.primary(e.Else))
	case *ir.IsValid:
		return pr.primary(e.X) + ".isValid()"
	case *ir.StackIndex:
		if e.Last {
			return pr.primary(e.X) + ".lastIndex"
		}
		// P4 has no nextIndex, but lastIndex is one less.
		return "(" + pr.primary(e.X) + ".lastIndex + 32w1)"
	case *ir.Tuple:
		return pr.tuple(e)
	}
	pr.fail("unknown expression %T", e)
	return "unknown"
}

func (pr *printer) index(e *ir.Index) string {
	x := pr.primary(e.X)
	if i, ok := e.I.(*ir.StackIndex); ok && pr.parser && ir.SameExpr(i.X, e.X) {
		if i.Last {
			return x + ".last"
		}
		return x + ".next"
	}
	if c, ok := e.I.(*ir.Const); ok {
		if s, ok := e.X.Type().(*ir.Stack); ok && c.Value.Cmp(big.NewInt(int64(s.Size))) >= 0 {
			// Beyond the end, which P4 does not allow of what it can see.
			return fmt.Sprintf("%s[%s[0].isValid() ? 32w%s : 32w%s]", x, x, c.Value, c.Value)
		}
		return fmt.Sprintf("%s[%s]", x, c.Value)
	}
	return fmt.Sprintf("%s[%s]", x, pr.expr(e.I))
}

func (pr *printer) tuple(e *ir.Tuple) string {
	if e.T == nil || pr.types[e.T] == "" {
		return pr.tupleOf(e, nil)
	}
	return pr.tupleOf(e, e.T.Fields)
}

// tupleOf gives a list for a struct with the given fields, or for one without a name.
func (pr *printer) tupleOf(e *ir.Tuple, fields []*ir.Field) string {
	parts := make([]string, len(e.Elems))
	for i, x := range e.Elems {
		if i < len(fields) && pr.fieldNewtype(fields[i]) != "" {
			parts[i] = pr.asNewtype(x, fields[i].TypeName)
		} else {
			parts[i] = pr.expr(x)
		}
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}

// primary gives an expression in a place that binds tightly.
func (pr *printer) primary(e ir.Expr) string {
	text := pr.expr(e)
	if pr.cloaked(e) {
		return "(" + text + ")"
	}
	switch e := e.(type) {
	case *ir.Binary, *ir.Mux, *ir.Cast, *ir.Unary:
		return "(" + text + ")"
	case *ir.Const:
		if strings.HasPrefix(text, "(") || e.Value.Sign() < 0 {
			return "(" + text + ")"
		}
	}
	return text
}

// operand gives an operand of a binary operator. Brackets that nobody needs to think
// about are left out: around comparisons in && and ||, and in a chain of one
// associative operator.
func (pr *printer) operand(e ir.Expr, parent *ir.Binary, right bool) string {
	switch x := e.(type) {
	case *ir.Cast, *ir.Unary:
		return pr.expr(e)
	case *ir.Binary:
		logical := parent.Op == ir.AndAnd || parent.Op == ir.OrOr
		switch x.Op {
		case ir.Eq, ir.Ne, ir.Lt, ir.Le, ir.Gt, ir.Ge:
			if logical {
				return pr.expr(e)
			}
		case parent.Op:
			switch parent.Op {
			case ir.AndAnd, ir.OrOr, ir.Add, ir.And, ir.Or, ir.Xor, ir.Concat:
				if !right {
					return pr.expr(e)
				}
			}
		}
	}
	return pr.primary(e)
}

// raw gives a mask or a masked value: its bits, which for a bool or an enum have to
// be cast.
func (pr *printer) raw(v *big.Int, t ir.Type) string {
	switch t := t.(type) {
	case *ir.Bits:
		return literal(v, t)
	case *ir.SerEnum:
		return fmt.Sprintf("(%s)%s", pr.typ(t), literal(v, t.Under))
	}
	return pr.value(v, t)
}
