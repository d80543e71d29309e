package types

import "math/big"

// Value is a compile-time value: IntVal, BoolVal, StrVal, EnumVal, ErrVal, *AggVal or
// DotsVal. Nil means that something is not known at compile time.
type Value interface{ isValue() }

// IntVal is a number; of a serializable enum it is the underlying value.
type IntVal struct{ V *big.Int }

// BoolVal is true or false.
type BoolVal bool

// StrVal is a string.
type StrVal string

// EnumVal is a member of an enum, by position.
type EnumVal int

// ErrVal is an error or a match kind, by name.
type ErrVal string

// AggVal is a struct, header, stack or tuple. With Names it is a record literal that
// has no type yet. Invalid is an invalid header.
type AggVal struct {
	Elems   []Value
	Names   []string
	Invalid bool
	rest    bool
}

// DotsVal is `...`, the default of its type.
type DotsVal struct{}

func (IntVal) isValue()  {}
func (BoolVal) isValue() {}
func (StrVal) isValue()  {}
func (EnumVal) isValue() {}
func (ErrVal) isValue()  {}
func (*AggVal) isValue() {}
func (DotsVal) isValue() {}

// equalValues compares values of one type.
func equalValues(a, b Value) bool {
	switch a := a.(type) {
	case IntVal:
		b, ok := b.(IntVal)
		return ok && a.V.Cmp(b.V) == 0
	case *AggVal:
		b, ok := b.(*AggVal)
		if !ok || a.Invalid != b.Invalid || len(a.Elems) != len(b.Elems) {
			return false
		}
		for i := range a.Elems {
			if !equalValues(a.Elems[i], b.Elems[i]) {
				return false
			}
		}
		return true
	}
	return a == b
}

// zeroValue is what `...` stands for: the default value of a type.
func zeroValue(t Type) Value {
	switch t := base(t).(type) {
	case Basic:
		switch t {
		case Bool:
			return BoolVal(false)
		case Error:
			return ErrVal("NoError")
		case String:
			return StrVal("")
		}
		return IntVal{new(big.Int)}
	case *Enum:
		return EnumVal(0)
	case *Struct:
		if isHeader(t) || isUnion(t) {
			return &AggVal{Invalid: true}
		}
		v := &AggVal{}
		for _, f := range t.Fields() {
			v.Elems = append(v.Elems, zeroValue(f.Type))
		}
		return v
	case *Stack:
		v := &AggVal{}
		for range t.Size {
			v.Elems = append(v.Elems, &AggVal{Invalid: true})
		}
		return v
	case *Tuple:
		v := &AggVal{}
		for _, e := range t.Elems {
			v.Elems = append(v.Elems, zeroValue(e))
		}
		return v
	}
	return IntVal{new(big.Int)}
}

func number(n int64) *big.Int { return big.NewInt(n) }
