package ir

import (
	"fmt"

	"github.com/catena-nfv/catena/internal/p4/diag"
)

// Type is one of *Bits, *Varbit, *Bool, *ErrorType, *Enum, *SerEnum, *Header,
// *Union, *Stack, *Struct and *String. Bits, Varbit, Bool, ErrorType and String
// are compared by Equal, the named ones by identity.
type Type interface {
	isType()
	// String is the type as P4 writes it.
	String() string
}

// Bits is bit<Width> or, when Signed, int<Width>.
type Bits struct {
	Width  int
	Signed bool
}

// Varbit is varbit<Max>: at most Max bits, the length being part of the value.
type Varbit struct{ Max int }

// Bool is bool.
type Bool struct{}

// ErrorType is error; its members are Program.Errors.
type ErrorType struct{}

// String is the type of a string literal; only log_msg takes one.
type String struct{}

// Enum is an enum without an underlying type; a value is a member's position.
type Enum struct {
	Name    string
	Members []string
	Span    diag.Span
}

// SerEnum is an enum with an underlying type; a value is any value of Under.
type SerEnum struct {
	Name    string
	Under   *Bits
	Members []SerMember
	Span    diag.Span
}

// SerMember is a named value of a SerEnum.
type SerMember struct {
	Name  string
	Value *Const
}

// Newtype is what `type T Name` declares. It is no Type: values have its representation;
// what the control plane names by it has a TypeName.
type Newtype struct {
	Name        string
	Type        Type   // its representation
	TypeName    string // the newtype that it was made of, or ""
	Annotations Annotations
	Span        diag.Span
}

// Field is a field of a header, union or struct.
type Field struct {
	Name        string
	Type        Type
	TypeName    string // the `type` (newtype) it was declared with, or ""
	Annotations Annotations
	Span        diag.Span
}

// Header is a header type. Fields are Bits, Varbit, Bool, SerEnum or Struct of
// these; lowering flattens nested structs to fields named outer.inner.
type Header struct {
	Name        string
	Fields      []*Field
	Annotations Annotations
	Span        diag.Span
}

// Union is a header union: at most one of its Fields, all headers, is valid.
type Union struct {
	Name        string
	Fields      []*Field
	Annotations Annotations
	Span        diag.Span
}

// Stack is a header stack. Elem is *Header or *Union.
type Stack struct {
	Elem Type
	Size int
}

// Struct is a struct or, when Tuple, a tuple or list whose fields are f0, f1, ….
type Struct struct {
	Name        string
	Fields      []*Field
	Tuple       bool
	Annotations Annotations
	Span        diag.Span
}

func (*Bits) isType()      {}
func (*Varbit) isType()    {}
func (*Bool) isType()      {}
func (*ErrorType) isType() {}
func (*String) isType()    {}
func (*Enum) isType()      {}
func (*SerEnum) isType()   {}
func (*Header) isType()    {}
func (*Union) isType()     {}
func (*Stack) isType()     {}
func (*Struct) isType()    {}

func (t *Bits) String() string {
	if t.Signed {
		return fmt.Sprintf("int<%d>", t.Width)
	}
	return fmt.Sprintf("bit<%d>", t.Width)
}
func (t *Varbit) String() string    { return fmt.Sprintf("varbit<%d>", t.Max) }
func (t *Bool) String() string      { return "bool" }
func (t *ErrorType) String() string { return "error" }
func (t *String) String() string    { return "string" }
func (t *Enum) String() string      { return t.Name }
func (t *SerEnum) String() string   { return t.Name }
func (t *Header) String() string    { return t.Name }
func (t *Union) String() string     { return t.Name }
func (t *Stack) String() string     { return fmt.Sprintf("%s[%d]", t.Elem, t.Size) }
func (t *Struct) String() string    { return t.Name }

// Equal reports whether two types are the same type.
func Equal(a, b Type) bool {
	switch a := a.(type) {
	case *Bits:
		b, ok := b.(*Bits)
		return ok && *a == *b
	case *Varbit:
		b, ok := b.(*Varbit)
		return ok && *a == *b
	case *Bool:
		_, ok := b.(*Bool)
		return ok
	case *ErrorType:
		_, ok := b.(*ErrorType)
		return ok
	case *String:
		_, ok := b.(*String)
		return ok
	case *Stack:
		b, ok := b.(*Stack)
		return ok && a.Size == b.Size && Equal(a.Elem, b.Elem)
	}
	return a == b
}

// FieldsOf returns the fields of a header, union or struct, nil for other types.
func FieldsOf(t Type) []*Field {
	switch t := t.(type) {
	case *Header:
		return t.Fields
	case *Union:
		return t.Fields
	case *Struct:
		return t.Fields
	}
	return nil
}

// ScalarBits returns the width in bits of a value that fits one integer: Bits,
// Bool (1), SerEnum, Enum and ErrorType (32, as behavioural models print them).
func ScalarBits(t Type) (width int, ok bool) {
	switch t := t.(type) {
	case *Bits:
		return t.Width, true
	case *Bool:
		return 1, true
	case *SerEnum:
		return t.Under.Width, true
	case *Enum, *ErrorType:
		return 32, true
	}
	return 0, false
}
