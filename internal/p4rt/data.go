package p4rt

import (
	"fmt"

	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// ScalarKind tells how a scalar is written in a P4Data message.
type ScalarKind int

// The scalar types of registers and digests.
const (
	BitScalar ScalarKind = iota
	IntScalar
	BoolScalar
	EnumScalar    // members by name; held as a position
	ErrorScalar   // the same
	SerEnumScalar // by value
)

// Scalar is one leaf of a register's or digest's type, in the order of
// declaration.
type Scalar struct {
	Name    string // path within the type: "", "src", "inner.ttl"
	Kind    ScalarKind
	Width   int // bits
	members []string
}

// scalars flattens a type.
func (s *Schema) scalars(spec *configv1.P4DataTypeSpec) ([]Scalar, error) {
	var out []Scalar
	err := s.flatten(spec, "", &out, 0)
	return out, err
}

func (s *Schema) flatten(spec *configv1.P4DataTypeSpec, path string, out *[]Scalar, depth int) error {
	if depth > 32 {
		return invalid("type nests too deeply")
	}
	ti := s.Info.GetTypeInfo()
	switch t := spec.GetTypeSpec().(type) {
	case *configv1.P4DataTypeSpec_Bitstring:
		sc, err := bitstring(t.Bitstring)
		if err != nil {
			return err
		}
		sc.Name = path
		*out = append(*out, sc)
	case *configv1.P4DataTypeSpec_Bool:
		*out = append(*out, Scalar{Name: path, Kind: BoolScalar, Width: 1})
	case *configv1.P4DataTypeSpec_Enum:
		e := ti.GetEnums()[t.Enum.GetName()]
		if e == nil {
			return invalid("enum %s is not in the P4Info", t.Enum.GetName())
		}
		sc := Scalar{Name: path, Kind: EnumScalar, Width: 32}
		for _, m := range e.GetMembers() {
			sc.members = append(sc.members, m.GetName())
		}
		*out = append(*out, sc)
	case *configv1.P4DataTypeSpec_Error:
		*out = append(*out, Scalar{Name: path, Kind: ErrorScalar, Width: 32, members: s.errorNames})
	case *configv1.P4DataTypeSpec_SerializableEnum:
		e := ti.GetSerializableEnums()[t.SerializableEnum.GetName()]
		if e == nil {
			return invalid("enum %s is not in the P4Info", t.SerializableEnum.GetName())
		}
		*out = append(*out, Scalar{Name: path, Kind: SerEnumScalar, Width: int(e.GetUnderlyingType().GetBitwidth())})
	case *configv1.P4DataTypeSpec_NewType:
		nt := ti.GetNewTypes()[t.NewType.GetName()]
		if nt == nil {
			return invalid("type %s is not in the P4Info", t.NewType.GetName())
		}
		if tr := nt.GetTranslatedType(); tr != nil {
			*out = append(*out, Scalar{Name: path, Kind: BitScalar, Width: int(tr.GetSdnBitwidth())})
			return nil
		}
		return s.flatten(nt.GetOriginalType(), path, out, depth+1)
	case *configv1.P4DataTypeSpec_Struct:
		st := ti.GetStructs()[t.Struct.GetName()]
		if st == nil {
			return invalid("struct %s is not in the P4Info", t.Struct.GetName())
		}
		for _, m := range st.GetMembers() {
			if err := s.flatten(m.GetTypeSpec(), join(path, m.GetName()), out, depth+1); err != nil {
				return err
			}
		}
	case *configv1.P4DataTypeSpec_Tuple:
		for i, m := range t.Tuple.GetMembers() {
			if err := s.flatten(m, join(path, fmt.Sprintf("f%d", i)), out, depth+1); err != nil {
				return err
			}
		}
	case *configv1.P4DataTypeSpec_Header:
		h := ti.GetHeaders()[t.Header.GetName()]
		if h == nil {
			return invalid("header %s is not in the P4Info", t.Header.GetName())
		}
		for _, m := range h.GetMembers() {
			sc, err := bitstring(m.GetTypeSpec())
			if err != nil {
				return err
			}
			sc.Name = join(path, m.GetName())
			*out = append(*out, sc)
		}
	default:
		return status.Errorf(codes.Unimplemented, "data of type %v is not supported", spec)
	}
	return nil
}

func bitstring(t *configv1.P4BitstringLikeTypeSpec) (Scalar, error) {
	switch {
	case t.GetBit() != nil:
		return Scalar{Kind: BitScalar, Width: int(t.GetBit().GetBitwidth())}, nil
	case t.GetInt() != nil:
		return Scalar{Kind: IntScalar, Width: int(t.GetInt().GetBitwidth())}, nil
	}
	return Scalar{}, status.Error(codes.Unimplemented, "varbit data is not supported")
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// DecodeData turns a P4Data message of type spec into its scalars, in target's
// form. The errors have code INVALID_ARGUMENT or OUT_OF_RANGE.
func (s *Schema) DecodeData(spec *configv1.P4DataTypeSpec, scalars []Scalar, d *v1.P4Data) ([][]byte, error) {
	out := make([][]byte, 0, len(scalars))
	if err := s.decode(spec, scalars, d, &out); err != nil {
		return nil, err
	}
	return out, nil
}

func (s *Schema) decode(spec *configv1.P4DataTypeSpec, scalars []Scalar, d *v1.P4Data, out *[][]byte) error {
	ti := s.Info.GetTypeInfo()
	switch t := spec.GetTypeSpec().(type) {
	case *configv1.P4DataTypeSpec_Struct:
		members := ti.GetStructs()[t.Struct.GetName()].GetMembers()
		got := d.GetStruct().GetMembers()
		if len(got) != len(members) {
			return invalid("struct %s has %d members, the data %d", t.Struct.GetName(), len(members), len(got))
		}
		for i, m := range members {
			if err := s.decode(m.GetTypeSpec(), scalars, got[i], out); err != nil {
				return err
			}
		}
		return nil
	case *configv1.P4DataTypeSpec_Tuple:
		got := d.GetTuple().GetMembers()
		if len(got) != len(t.Tuple.GetMembers()) {
			return invalid("the tuple has %d members, the data %d", len(t.Tuple.GetMembers()), len(got))
		}
		for i, m := range t.Tuple.GetMembers() {
			if err := s.decode(m, scalars, got[i], out); err != nil {
				return err
			}
		}
		return nil
	case *configv1.P4DataTypeSpec_Header:
		members := ti.GetHeaders()[t.Header.GetName()].GetMembers()
		got := d.GetHeader().GetBitstrings()
		if d.GetHeader() == nil || len(got) != len(members) {
			return invalid("header %s has %d fields, the data %d", t.Header.GetName(), len(members), len(got))
		}
		for _, v := range got {
			sc := scalars[len(*out)]
			x, err := fitScalar(sc, v)
			if err != nil {
				return err
			}
			*out = append(*out, x)
		}
		return nil
	case *configv1.P4DataTypeSpec_NewType:
		if nt := ti.GetNewTypes()[t.NewType.GetName()]; nt.GetTranslatedType() == nil {
			return s.decode(nt.GetOriginalType(), scalars, d, out)
		}
	}
	v, err := decodeScalar(scalars[len(*out)], d)
	if err != nil {
		return err
	}
	*out = append(*out, v)
	return nil
}

func decodeScalar(sc Scalar, d *v1.P4Data) ([]byte, error) {
	switch x := d.GetData().(type) {
	case *v1.P4Data_Bitstring:
		if sc.Kind == BitScalar || sc.Kind == IntScalar {
			return fitScalar(sc, x.Bitstring)
		}
	case *v1.P4Data_EnumValue:
		if sc.Kind == SerEnumScalar {
			return fitScalar(sc, x.EnumValue)
		}
	case *v1.P4Data_Bool:
		if sc.Kind == BoolScalar {
			if x.Bool {
				return []byte{1}, nil
			}
			return []byte{0}, nil
		}
	case *v1.P4Data_Enum:
		if sc.Kind == EnumScalar {
			return position(sc, x.Enum)
		}
	case *v1.P4Data_Error:
		if sc.Kind == ErrorScalar {
			return position(sc, x.Error)
		}
	}
	return nil, invalid("%s: the data does not have the type of the P4Info", orWhole(sc.Name))
}

func fitScalar(sc Scalar, v []byte) ([]byte, error) {
	var err error
	if sc.Kind == IntScalar {
		v, err = FitSigned(v, sc.Width)
	} else {
		v, err = Fit(v, sc.Width)
	}
	if err != nil {
		return nil, status.Errorf(status.Code(err), "%s: %s", orWhole(sc.Name), status.Convert(err).Message())
	}
	return v, nil
}

func position(sc Scalar, name string) ([]byte, error) {
	for i, m := range sc.members {
		if m == name {
			return Uint(uint64(i)), nil
		}
	}
	return nil, invalid("%s: no member %q; %s", orWhole(sc.Name), name, known(sc.members))
}

func orWhole(name string) string {
	if name == "" {
		return "value"
	}
	return name
}

// EncodeData is the inverse of DecodeData.
func (s *Schema) EncodeData(spec *configv1.P4DataTypeSpec, scalars []Scalar, values [][]byte) (*v1.P4Data, error) {
	if len(values) != len(scalars) {
		return nil, status.Errorf(codes.Internal, "%d values for a type of %d scalars", len(values), len(scalars))
	}
	e := encoder{s: s, scalars: scalars, values: values}
	return e.data(spec), nil
}

// encoder walks a type and takes the scalars one by one.
type encoder struct {
	s       *Schema
	scalars []Scalar
	values  [][]byte
}

func (e *encoder) next() (Scalar, []byte) {
	sc, v := e.scalars[0], e.values[0]
	e.scalars, e.values = e.scalars[1:], e.values[1:]
	return sc, v
}

func (e *encoder) data(spec *configv1.P4DataTypeSpec) *v1.P4Data {
	ti := e.s.Info.GetTypeInfo()
	switch t := spec.GetTypeSpec().(type) {
	case *configv1.P4DataTypeSpec_Struct:
		out := &v1.P4StructLike{}
		for _, m := range ti.GetStructs()[t.Struct.GetName()].GetMembers() {
			out.Members = append(out.Members, e.data(m.GetTypeSpec()))
		}
		return &v1.P4Data{Data: &v1.P4Data_Struct{Struct: out}}
	case *configv1.P4DataTypeSpec_Tuple:
		out := &v1.P4StructLike{}
		for _, m := range t.Tuple.GetMembers() {
			out.Members = append(out.Members, e.data(m))
		}
		return &v1.P4Data{Data: &v1.P4Data_Tuple{Tuple: out}}
	case *configv1.P4DataTypeSpec_Header:
		out := &v1.P4Header{IsValid: true}
		for range ti.GetHeaders()[t.Header.GetName()].GetMembers() {
			sc, v := e.next()
			out.Bitstrings = append(out.Bitstrings, wire(sc, v))
		}
		return &v1.P4Data{Data: &v1.P4Data_Header{Header: out}}
	case *configv1.P4DataTypeSpec_NewType:
		if nt := ti.GetNewTypes()[t.NewType.GetName()]; nt.GetTranslatedType() == nil {
			return e.data(nt.GetOriginalType())
		}
	}
	sc, v := e.next()
	switch sc.Kind {
	case BoolScalar:
		return &v1.P4Data{Data: &v1.P4Data_Bool{Bool: !isZero(v)}}
	case EnumScalar:
		return &v1.P4Data{Data: &v1.P4Data_Enum{Enum: member(sc, v)}}
	case ErrorScalar:
		return &v1.P4Data{Data: &v1.P4Data_Error{Error: member(sc, v)}}
	case SerEnumScalar:
		return &v1.P4Data{Data: &v1.P4Data_EnumValue{EnumValue: wire(sc, v)}}
	}
	return &v1.P4Data{Data: &v1.P4Data_Bitstring{Bitstring: wire(sc, v)}}
}

func wire(sc Scalar, v []byte) []byte {
	if sc.Kind == IntScalar {
		return Signed(v, sc.Width)
	}
	return Canonical(v)
}

// member names an enum's value; one beyond the members is shown as its number.
func member(sc Scalar, v []byte) string {
	if i := Uint64(v); i < uint64(len(sc.members)) {
		return sc.members[i]
	}
	return fmt.Sprint(Uint64(v))
}
