package p4info

import (
	"strconv"

	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

// instance describes an extern object.
func (b *builder) instance(i *ir.Instance) {
	kind := kindOf(i.Kind)
	if kind == configv1.P4Ids_UNSPECIFIED || hidden(i.Annotations) || !b.first(kind, i.FullName) {
		return
	}
	pre := b.preamble(kind, i.FullName, i.Annotations)
	switch i.Kind {
	case ir.KindActionProfile, ir.KindActionSelector:
		out := &configv1.ActionProfile{
			Preamble: pre, Size: int64(i.Size), WithSelector: i.Kind == ir.KindActionSelector,
			TableIds: b.tablesOf(func(t *ir.Table) bool { return t.Impl == i }),
		}
		if out.WithSelector {
			out.MaxGroupSize = maxGroupSize(i)
			out.SelectorSizeSemantics = &configv1.ActionProfile_SumOfWeights_{SumOfWeights: &configv1.ActionProfile_SumOfWeights{}}
		}
		b.info.ActionProfiles = append(b.info.ActionProfiles, out)
	case ir.KindCounter:
		b.info.Counters = append(b.info.Counters, &configv1.Counter{
			Preamble: pre, Spec: counterSpec(i), Size: int64(i.Size)})
	case ir.KindDirectCounter:
		for _, id := range b.tablesOf(func(t *ir.Table) bool { return t.Counter == i }) {
			b.info.DirectCounters = append(b.info.DirectCounters, &configv1.DirectCounter{
				Preamble: pre, Spec: counterSpec(i), DirectTableId: id})
			break
		}
	case ir.KindMeter:
		b.info.Meters = append(b.info.Meters, &configv1.Meter{
			Preamble: pre, Spec: meterSpec(i), Size: int64(i.Size)})
	case ir.KindDirectMeter:
		for _, id := range b.tablesOf(func(t *ir.Table) bool { return t.Meter == i }) {
			b.info.DirectMeters = append(b.info.DirectMeters, &configv1.DirectMeter{
				Preamble: pre, Spec: meterSpec(i), DirectTableId: id})
			break
		}
	case ir.KindRegister:
		b.info.Registers = append(b.info.Registers, &configv1.Register{
			Preamble: pre, TypeSpec: b.typeSpec(i.Elem, i.TypeName), Size: int32(i.Size)})
	case ir.KindDigest:
		b.info.Digests = append(b.info.Digests, &configv1.Digest{
			Preamble: pre, TypeSpec: b.typeSpec(i.Elem, "")})
	}
}

// tablesOf lists the ids of the tables that a condition holds for.
func (b *builder) tablesOf(uses func(*ir.Table) bool) []uint32 {
	var out []uint32
	for _, c := range controls(b.prog) {
		for _, t := range c.Tables {
			if uses(t) && !hidden(t.Annotations) {
				out = append(out, b.sym.id(configv1.P4Ids_TABLE, t.FullName))
			}
		}
	}
	return out
}

// maxGroupSize is what @max_group_size says; 0: no bound of its own.
func maxGroupSize(i *ir.Instance) int32 {
	a, ok := i.Annotations.Get("max_group_size")
	if !ok || len(a.Args) != 1 {
		return 0
	}
	n, err := strconv.ParseInt(a.Args[0], 0, 32)
	if err != nil {
		return 0
	}
	return int32(n)
}

func counterSpec(i *ir.Instance) *configv1.CounterSpec {
	switch i.Unit {
	case "packets":
		return &configv1.CounterSpec{Unit: configv1.CounterSpec_PACKETS}
	case "bytes":
		return &configv1.CounterSpec{Unit: configv1.CounterSpec_BYTES}
	}
	return &configv1.CounterSpec{Unit: configv1.CounterSpec_BOTH}
}

func meterSpec(i *ir.Instance) *configv1.MeterSpec {
	if i.Unit == "bytes" {
		return &configv1.MeterSpec{Unit: configv1.MeterSpec_BYTES}
	}
	return &configv1.MeterSpec{Unit: configv1.MeterSpec_PACKETS}
}
