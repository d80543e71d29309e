package p4info

import (
	"regexp"
	"strconv"

	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"

	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// bitwidth is the width of a value on the wire; 0 for an error or an enum, which have
// none in P4Runtime.
func bitwidth(t ir.Type) int32 {
	switch t.(type) {
	case *ir.ErrorType, *ir.Enum:
		return 0
	}
	w, _ := ir.ScalarBits(t)
	return int32(w)
}

// newtype finds the declaration of a newtype, or nil.
func (b *builder) newtype(name string) *ir.Newtype {
	for _, n := range b.prog.Newtypes {
		if n.Name == name {
			return n
		}
	}
	return nil
}

// translated is the body of @p4runtime_translation: a URI and a number of bits, bit<W>
// or string (P4Runtime 1.5, section 8.4.6).
var translated = regexp.MustCompile(`^"([^"]*)" , (?:(\d+)|bit < (\d+) >|string)$`)

// translation is what @p4runtime_translation of a newtype says, or nil.
func translation(n *ir.Newtype) *configv1.P4NewTypeTranslation {
	if n == nil {
		return nil
	}
	a, _ := n.Annotations.Get("p4runtime_translation")
	m := translated.FindStringSubmatch(a.Body)
	if m == nil {
		return nil
	}
	t := &configv1.P4NewTypeTranslation{Uri: m[1]}
	if w, err := strconv.ParseInt(m[2]+m[3], 0, 32); err == nil {
		t.SdnType = &configv1.P4NewTypeTranslation_SdnBitwidth{SdnBitwidth: int32(w)}
		return t
	}
	t.SdnType = &configv1.P4NewTypeTranslation_SdnString_{SdnString: &configv1.P4NewTypeTranslation_SdnString{}}
	return t
}

// width is the width that the control plane sees: of a translated newtype that of the
// translation, 0 for strings.
func (b *builder) width(t ir.Type, newtype string) int32 {
	if tr := translation(b.newtype(newtype)); tr != nil {
		return tr.GetSdnBitwidth()
	}
	return bitwidth(t)
}

// typeName names the user-defined type of a field and describes it in type_info; nil
// for built-in types.
func (b *builder) typeName(t ir.Type, newtype string) *configv1.P4NamedType {
	if newtype != "" {
		b.typeSpec(t, newtype)
		return &configv1.P4NamedType{Name: newtype}
	}
	switch t := t.(type) {
	case *ir.SerEnum:
		b.typeSpec(t, "")
		return &configv1.P4NamedType{Name: t.Name}
	case *ir.Enum:
		b.typeSpec(t, "")
		return &configv1.P4NamedType{Name: t.Name}
	}
	return nil
}

func (b *builder) typeInfo() *configv1.P4TypeInfo {
	if b.info.TypeInfo == nil {
		b.info.TypeInfo = &configv1.P4TypeInfo{}
	}
	return b.info.TypeInfo
}

// typeSpec describes a type, a newtype of it when newtype is not empty, and enters
// the named types that it needs into type_info.
func (b *builder) typeSpec(t ir.Type, newtype string) *configv1.P4DataTypeSpec {
	if newtype != "" {
		ti := b.typeInfo()
		if ti.NewTypes == nil {
			ti.NewTypes = map[string]*configv1.P4NewTypeSpec{}
		}
		if ti.NewTypes[newtype] == nil {
			spec := &configv1.P4NewTypeSpec{}
			ti.NewTypes[newtype] = spec
			decl := b.newtype(newtype)
			if tr := translation(decl); tr != nil {
				spec.Representation = &configv1.P4NewTypeSpec_TranslatedType{TranslatedType: tr}
			} else {
				under := ""
				if decl != nil {
					under = decl.TypeName
				}
				spec.Representation = &configv1.P4NewTypeSpec_OriginalType{OriginalType: b.typeSpec(t, under)}
			}
		}
		return &configv1.P4DataTypeSpec{TypeSpec: &configv1.P4DataTypeSpec_NewType{NewType: &configv1.P4NamedType{Name: newtype}}}
	}
	switch t := t.(type) {
	case *ir.Bits, *ir.Varbit:
		return &configv1.P4DataTypeSpec{TypeSpec: &configv1.P4DataTypeSpec_Bitstring{Bitstring: bitstring(t)}}
	case *ir.Bool:
		return &configv1.P4DataTypeSpec{TypeSpec: &configv1.P4DataTypeSpec_Bool{Bool: &configv1.P4BoolType{}}}
	case *ir.ErrorType:
		b.typeInfo().Error = &configv1.P4ErrorTypeSpec{Members: b.prog.Errors}
		return &configv1.P4DataTypeSpec{TypeSpec: &configv1.P4DataTypeSpec_Error{Error: &configv1.P4ErrorType{}}}
	case *ir.Enum:
		b.enum(t)
		return &configv1.P4DataTypeSpec{TypeSpec: &configv1.P4DataTypeSpec_Enum{Enum: &configv1.P4NamedType{Name: t.Name}}}
	case *ir.SerEnum:
		b.serEnum(t)
		return &configv1.P4DataTypeSpec{TypeSpec: &configv1.P4DataTypeSpec_SerializableEnum{SerializableEnum: &configv1.P4NamedType{Name: t.Name}}}
	case *ir.Struct:
		return b.structSpec(t)
	case *ir.Header:
		b.header(t)
		return &configv1.P4DataTypeSpec{TypeSpec: &configv1.P4DataTypeSpec_Header{Header: &configv1.P4NamedType{Name: t.Name}}}
	}
	return &configv1.P4DataTypeSpec{}
}

func bitstring(t ir.Type) *configv1.P4BitstringLikeTypeSpec {
	switch t := t.(type) {
	case *ir.Varbit:
		return &configv1.P4BitstringLikeTypeSpec{TypeSpec: &configv1.P4BitstringLikeTypeSpec_Varbit{
			Varbit: &configv1.P4VarbitTypeSpec{MaxBitwidth: int32(t.Max)}}}
	case *ir.Bits:
		if t.Signed {
			return &configv1.P4BitstringLikeTypeSpec{TypeSpec: &configv1.P4BitstringLikeTypeSpec_Int{
				Int: &configv1.P4IntTypeSpec{Bitwidth: int32(t.Width)}}}
		}
		return &configv1.P4BitstringLikeTypeSpec{TypeSpec: &configv1.P4BitstringLikeTypeSpec_Bit{
			Bit: &configv1.P4BitTypeSpec{Bitwidth: int32(t.Width)}}}
	}
	return nil
}

func (b *builder) enum(t *ir.Enum) {
	ti := b.typeInfo()
	if ti.Enums == nil {
		ti.Enums = map[string]*configv1.P4EnumTypeSpec{}
	}
	if ti.Enums[t.Name] != nil {
		return
	}
	spec := &configv1.P4EnumTypeSpec{}
	for _, m := range t.Members {
		spec.Members = append(spec.Members, &configv1.P4EnumTypeSpec_Member{Name: m})
	}
	ti.Enums[t.Name] = spec
}

func (b *builder) serEnum(t *ir.SerEnum) {
	ti := b.typeInfo()
	if ti.SerializableEnums == nil {
		ti.SerializableEnums = map[string]*configv1.P4SerializableEnumTypeSpec{}
	}
	if ti.SerializableEnums[t.Name] != nil {
		return
	}
	spec := &configv1.P4SerializableEnumTypeSpec{UnderlyingType: &configv1.P4BitTypeSpec{Bitwidth: int32(t.Under.Width)}}
	for _, m := range t.Members {
		spec.Members = append(spec.Members, &configv1.P4SerializableEnumTypeSpec_Member{
			Name: m.Name, Value: canonical(target.Encode(m.Value.Value, t.Under.Width))})
	}
	ti.SerializableEnums[t.Name] = spec
}

func (b *builder) structSpec(t *ir.Struct) *configv1.P4DataTypeSpec {
	if t.Tuple {
		spec := &configv1.P4TupleTypeSpec{}
		for _, f := range t.Fields {
			spec.Members = append(spec.Members, b.typeSpec(f.Type, f.TypeName))
		}
		return &configv1.P4DataTypeSpec{TypeSpec: &configv1.P4DataTypeSpec_Tuple{Tuple: spec}}
	}
	ti := b.typeInfo()
	if ti.Structs == nil {
		ti.Structs = map[string]*configv1.P4StructTypeSpec{}
	}
	if ti.Structs[t.Name] == nil {
		spec := &configv1.P4StructTypeSpec{}
		ti.Structs[t.Name] = spec
		for _, f := range t.Fields {
			spec.Members = append(spec.Members, &configv1.P4StructTypeSpec_Member{
				Name: f.Name, TypeSpec: b.typeSpec(f.Type, f.TypeName)})
		}
	}
	return &configv1.P4DataTypeSpec{TypeSpec: &configv1.P4DataTypeSpec_Struct{Struct: &configv1.P4NamedType{Name: t.Name}}}
}

func (b *builder) header(t *ir.Header) {
	ti := b.typeInfo()
	if ti.Headers == nil {
		ti.Headers = map[string]*configv1.P4HeaderTypeSpec{}
	}
	if ti.Headers[t.Name] != nil {
		return
	}
	spec := &configv1.P4HeaderTypeSpec{}
	for _, f := range t.Fields {
		if bs := bitstring(f.Type); bs != nil {
			spec.Members = append(spec.Members, &configv1.P4HeaderTypeSpec_Member{Name: f.Name, TypeSpec: bs})
		}
	}
	ti.Headers[t.Name] = spec
}
