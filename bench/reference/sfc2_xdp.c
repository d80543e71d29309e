//go:build ignore

/* SFC2 of paper 003 by hand, for XDP, on a wire between two ports: LB, then on path 1 L3fwd, then on both paths
 * Firewall and NAT. See sfc1_xdp.c. */
#include "sfc.h"
#include "lb.h"

enum { LB, L3FWD, FIREWALL, NAT, NODES };

struct nodes {
	struct count seen[NODES], dropped[NODES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct nodes);
} nodes SEC(".maps");

SEC("xdp")
int sfc2(ctx_t *ctx)
{
	const struct classifier_value *chain;
	struct packet p = {};
	struct nodes *n;
	u32 zero = 0;

	if (unlikely(parse(ctx, &p)))
		return DROP;
	chain = classify(&p.k);
	if (!chain)
		return out(p.port ^ 3);
	n = bpf_map_lookup_elem(&nodes, &zero);
	if (unlikely(!n))
		return DROP;
	p.k.scope = p.scope = chain->scope;

	add(&n->seen[LB], p.len);
	if (likely(p.ip))
		do_lb(&p);
	if (chain->path == 1) {
		add(&n->seen[L3FWD], p.len);
		if (likely(p.ip) && unlikely(do_l3fwd(&p))) {
			add(&n->dropped[L3FWD], p.len);
			return DROP;
		}
	}
	add(&n->seen[FIREWALL], p.len);
	if (likely(p.ip) && unlikely(do_firewall(&p))) {
		add(&n->dropped[FIREWALL], p.len);
		return DROP;
	}
	add(&n->seen[NAT], p.len);
	if (likely(p.ip))
		do_nat(&p);
	return leave(ctx, &p);
}

char LICENSE[] SEC("license") = "GPL";
