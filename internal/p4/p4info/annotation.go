package p4info

import (
	"math/big"
	"regexp"
	"strings"

	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// annotations gives unstructured annotations as P4 writes them, without those that have a
// field of their own: @name, @id, @brief and @description.
func annotations(as ir.Annotations) []string {
	var out []string
	for _, a := range as {
		switch a.Name {
		case "name", "id", "brief", "description":
			continue
		}
		if !a.Structured {
			out = append(out, a.Text())
		}
	}
	return out
}

// structured gives the annotations with [ ], their values evaluated.
func structured(as ir.Annotations) []*configv1.StructuredAnnotation {
	var out []*configv1.StructuredAnnotation
	for _, a := range as {
		if !a.Structured {
			continue
		}
		exprs, pairs := &configv1.ExpressionList{}, &configv1.KeyValuePairList{}
		for _, v := range a.Values {
			e := expression(v.Value)
			if v.Key == "" {
				exprs.Expressions = append(exprs.Expressions, e)
			} else {
				pairs.KvPairs = append(pairs.KvPairs, &configv1.KeyValuePair{Key: v.Key, Value: e})
			}
		}
		s := &configv1.StructuredAnnotation{Name: a.Name, Body: &configv1.StructuredAnnotation_ExpressionList{ExpressionList: exprs}}
		if len(pairs.KvPairs) > 0 {
			s.Body = &configv1.StructuredAnnotation_KvPairList{KvPairList: pairs}
		}
		out = append(out, s)
	}
	return out
}

// expression is a value of an annotation; a number beyond 64 bits is given as text.
func expression(v any) *configv1.Expression {
	switch v := v.(type) {
	case bool:
		return &configv1.Expression{Value: &configv1.Expression_BoolValue{BoolValue: v}}
	case *big.Int:
		if v.IsInt64() {
			return &configv1.Expression{Value: &configv1.Expression_Int64Value{Int64Value: v.Int64()}}
		}
		return &configv1.Expression{Value: &configv1.Expression_StringValue{StringValue: v.String()}}
	}
	s, _ := v.(string)
	return &configv1.Expression{Value: &configv1.Expression_StringValue{StringValue: s}}
}

func text(as ir.Annotations, name string) string {
	if a, ok := as.Get(name); ok && len(a.Args) == 1 {
		return a.Args[0]
	}
	return ""
}

func documentation(as ir.Annotations) *configv1.Documentation {
	d := &configv1.Documentation{Brief: text(as, "brief"), Description: text(as, "description")}
	if d.Brief == "" && d.Description == "" {
		return nil
	}
	return d
}

var keyValue = regexp.MustCompile(`(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"`)

// packageInfo fills in pkg_info from the annotations of main: @pkginfo(name="…", …),
// @brief, @description, and all others as they are.
func (b *builder) packageInfo() {
	info := &configv1.PkgInfo{Arch: "v1model", Doc: documentation(b.prog.Annotations)}
	for _, a := range b.prog.Annotations {
		if a.Name != "pkginfo" {
			continue
		}
		for _, m := range keyValue.FindAllStringSubmatch(a.Body, -1) {
			v := strings.ReplaceAll(m[2], `\"`, `"`)
			switch m[1] {
			case "name":
				info.Name = v
			case "version":
				info.Version = v
			case "organization":
				info.Organization = v
			case "contact":
				info.Contact = v
			case "url":
				info.Url = v
			}
		}
	}
	for _, t := range annotations(b.prog.Annotations) {
		if !strings.HasPrefix(t, "@pkginfo") {
			info.Annotations = append(info.Annotations, t)
		}
	}
	info.StructuredAnnotations = structured(b.prog.Annotations)
	b.info.PkgInfo = info
}
