package dataplane

import (
	"math/big"

	"github.com/catena-nfv/catena/internal/p4/ir"
)

func bit(w int) *ir.Bits { return &ir.Bits{Width: w} }

func num(w int, x int64) *ir.Const { return &ir.Const{T: bit(w), Value: big.NewInt(x)} }

func fields(nw ...any) []*ir.Field {
	var out []*ir.Field
	for i := 0; i < len(nw); i += 2 {
		t, ok := nw[i+1].(ir.Type)
		if !ok {
			t = bit(nw[i+1].(int))
		}
		out = append(out, &ir.Field{Name: nw[i].(string), Type: t})
	}
	return out
}

// of is X.name.name…
func of(x ir.Expr, names ...string) ir.Expr {
	for _, n := range names {
		for _, f := range ir.FieldsOf(x.Type()) {
			if f.Name == n {
				x = &ir.Member{X: x, Field: f}
				break
			}
		}
	}
	return x
}

func ref(v *ir.Var) ir.Expr { return &ir.VarRef{Var: v} }

func binop(op ir.BinaryOp, x, y ir.Expr, t ir.Type) ir.Expr {
	return &ir.Binary{Op: op, X: x, Y: y, T: t}
}

// standard is the standard metadata that the tests use.
func standard() *ir.Struct {
	return &ir.Struct{Name: "standard_metadata_t", Fields: fields("ingress_port", 9, "egress_spec", 9,
		"egress_port", 9, "instance_type", 32, "packet_length", 32, "mcast_grp", 16, "egress_rid", 16,
		"checksum_error", 1, "parser_error", &ir.ErrorType{})}
}

// router is a program that parses Ethernet and IPv4 and forwards by an lpm table:
// port, new destination address, ttl - 1, and the header checksum is updated.
func router() *ir.Program {
	eth := &ir.Header{Name: "ethernet_t", Fields: fields("dst_addr", 48, "src_addr", 48, "ether_type", 16)}
	ip := &ir.Header{Name: "ipv4_t", Fields: fields("version", 4, "ihl", 4, "diffserv", 8, "total_len", 16,
		"identification", 16, "flags", 3, "frag_offset", 13, "ttl", 8, "protocol", 8, "checksum", 16,
		"src_addr", 32, "dst_addr", 32)}
	hs := &ir.Struct{Name: "headers", Fields: fields("ethernet", eth, "ipv4", ip)}
	ms := &ir.Struct{Name: "metadata"}
	std := standard()
	p := &ir.Program{
		Name: "router", Headers: []*ir.Header{eth, ip}, Structs: []*ir.Struct{hs, ms, std},
		Errors: []string{"NoError", "PacketTooShort", "NoMatch", "StackOutOfBounds", "HeaderTooShort", "ParserTimeout", "ParserInvalidArgument"},
		Hdr:    &ir.Var{Name: "hdr", Type: hs}, Meta: &ir.Var{Name: "meta", Type: ms}, Std: &ir.Var{Name: "standard_metadata", Type: std},
	}
	hdr, sm := ref(p.Hdr), ref(p.Std)

	parseIP := &ir.State{Name: "parse_ipv4", Body: []ir.Stmt{&ir.Call{Op: ir.OpExtract, Dst: of(hdr, "ipv4")}},
		Next: ir.Transition{Cases: []ir.SelectCase{{Next: ir.Accept}}}}
	start := &ir.State{Name: "start", Body: []ir.Stmt{&ir.Call{Op: ir.OpExtract, Dst: of(hdr, "ethernet")}},
		Next: ir.Transition{Select: []ir.Expr{of(hdr, "ethernet", "ether_type")}, Cases: []ir.SelectCase{
			{Keys: []ir.Keyset{&ir.KeyExact{Value: big.NewInt(0x800)}}, Next: parseIP},
			{Keys: []ir.Keyset{&ir.KeyAny{}}, Next: ir.Accept}}}}
	p.Parser = &ir.Parser{Name: "P", States: []*ir.State{start, parseIP}}

	port, mac := &ir.Var{Name: "port", Type: bit(9)}, &ir.Var{Name: "mac", Type: bit(48)}
	ttl := of(hdr, "ipv4", "ttl")
	forward := &ir.Action{Name: "forward", FullName: "I.forward", Params: []*ir.Var{port, mac}, Body: []ir.Stmt{
		&ir.Assign{Dst: of(sm, "egress_spec"), Src: ref(port)},
		&ir.Assign{Dst: of(hdr, "ethernet", "dst_addr"), Src: ref(mac)},
		&ir.Assign{Dst: ttl, Src: binop(ir.Sub, ttl, num(8, 1), bit(8))}}}
	drop := &ir.Action{Name: "drop", FullName: "I.drop", Body: []ir.Stmt{&ir.Call{Op: ir.OpMarkToDrop}}}
	counter := &ir.Instance{Kind: ir.KindDirectCounter, Name: "hits", FullName: "I.hits", Unit: "packets_and_bytes"}
	routes := &ir.Table{Name: "routes", FullName: "I.routes", Size: 1024, Counter: counter,
		Keys:    []*ir.Key{{X: of(hdr, "ipv4", "dst_addr"), Type: bit(32), Match: ir.MatchLPM, Name: "hdr.ipv4.dst_addr"}},
		Actions: []*ir.TableAction{{Action: forward}, {Action: drop}},
		Default: &ir.ActionCall{Action: drop}}
	p.Ingress = &ir.Control{Name: "I", Actions: []*ir.Action{forward, drop}, Tables: []*ir.Table{routes}, Instances: []*ir.Instance{counter},
		Body: &ir.Block{Body: []ir.Stmt{&ir.If{Cond: &ir.IsValid{X: of(hdr, "ipv4")},
			Then: []ir.Stmt{&ir.Apply{Table: routes}}, Else: []ir.Stmt{&ir.Call{Op: ir.OpMarkToDrop}}}}}}

	algorithm := &ir.Enum{Name: "HashAlgorithm", Members: []string{"crc32", "crc32_custom", "crc16", "crc16_custom", "random", "identity", "csum16", "xor16"}}
	list := &ir.Tuple{T: &ir.Struct{Tuple: true}}
	for _, n := range []string{"version", "ihl", "diffserv", "total_len", "identification", "flags", "frag_offset", "ttl", "protocol", "src_addr", "dst_addr"} {
		list.Elems = append(list.Elems, of(hdr, "ipv4", n))
	}
	p.ComputeChecksum = &ir.Control{Name: "C", Annotations: ir.Annotations{{Name: "incremental"}}, Body: &ir.Block{
		Body: []ir.Stmt{&ir.Call{Op: ir.OpUpdateChecksum, Dst: of(hdr, "ipv4", "checksum"),
			Args: []ir.Expr{&ir.IsValid{X: of(hdr, "ipv4")}, list, &ir.Const{T: algorithm, Value: big.NewInt(6)}}}}}}
	p.VerifyChecksum = &ir.Control{Name: "V", Body: &ir.Block{}}
	p.Egress = &ir.Control{Name: "E", Body: &ir.Block{}}
	p.Deparser = &ir.Control{Name: "D", Body: &ir.Block{Body: []ir.Stmt{
		&ir.Call{Op: ir.OpEmit, Args: []ir.Expr{of(hdr, "ethernet")}},
		&ir.Call{Op: ir.OpEmit, Args: []ir.Expr{of(hdr, "ipv4")}}}}}
	return p
}
