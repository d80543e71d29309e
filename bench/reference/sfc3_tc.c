//go:build ignore

/* SFC3 of paper 003 by hand: NAT, L2fwd, LB, L3fwd, Firewall on a wire between two ports. For TC, because L2fwd may
 * flood, and XDP cannot copy a packet. See sfc1_xdp.c. */
#define HOOK_TC
#include "sfc.h"
#include "lb.h"

struct address {
	u8 mac[6];
	u16 scope;
};

enum { FORWARD, FLOOD, BLOCK };

struct station {
	u32 action;
	u32 to; /* port or group */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct address);
	__type(value, struct station);
} l2fwd_addresses SEC(".maps");

#define MAX_COPIES 64

struct group {
	u32 n;
	u32 ports[MAX_COPIES];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, u32);
	__type(value, struct group);
} groups SEC(".maps");

enum { NAT, L2FWD, LB, L3FWD, FIREWALL, NODES };

struct nodes {
	struct count seen[NODES], dropped[NODES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct nodes);
} nodes SEC(".maps");

/* do_l2fwd tells whether the packet is to be dropped; group is where it floods to, or stays. */
static __always_inline int do_l2fwd(struct packet *p, u32 *group)
{
	struct address key __attribute__((aligned(8)));
	const struct station *to;

	*(u64 *)&key = *(u64 *)p->eth->h_dest; /* and two bytes of the source, which are none of the key */
	key.scope = p->scope;
	to = bpf_map_lookup_elem(&l2fwd_addresses, &key);
	if (!to)
		return 0;
	if (likely(to->action == FORWARD)) {
		p->egress = to->to;
		return 0;
	}
	*group = to->to;
	return to->action == BLOCK;
}

/* flood sends a copy to each port of a group but the one that the packet came from. */
static __noinline int flood(ctx_t *ctx, u32 id, u32 from)
{
	struct group *g = bpf_map_lookup_elem(&groups, &id);

	if (!g)
		return DROP;
	for (u32 i = 0; i < MAX_COPIES && i < g->n; i++) {
		u32 port = g->ports[i], *ifindex;

		if (port == from)
			continue;
		ifindex = bpf_map_lookup_elem(&ports_out, &port);
		if (ifindex && *ifindex)
			bpf_clone_redirect(ctx, *ifindex, 0);
	}
	return DROP;
}

SEC("tc")
int sfc3(ctx_t *ctx)
{
	const struct classifier_value *chain;
	struct packet p = {};
	struct nodes *n;
	u32 zero = 0, group = 0;

	if (unlikely(parse(ctx, &p)))
		return DROP;
	chain = classify(&p.k);
	if (!chain)
		return out(p.port ^ 3);
	n = bpf_map_lookup_elem(&nodes, &zero);
	if (unlikely(!n))
		return DROP;
	p.k.scope = p.scope = chain->scope;

	add(&n->seen[NAT], p.len);
	if (likely(p.ip))
		do_nat(&p);
	add(&n->seen[L2FWD], p.len);
	if (unlikely(do_l2fwd(&p, &group))) {
		add(&n->dropped[L2FWD], p.len);
		return DROP;
	}
	add(&n->seen[LB], p.len);
	if (likely(p.ip))
		do_lb(&p);
	add(&n->seen[L3FWD], p.len);
	if (likely(p.ip) && unlikely(do_l3fwd(&p))) {
		add(&n->dropped[L3FWD], p.len);
		return DROP;
	}
	add(&n->seen[FIREWALL], p.len);
	if (likely(p.ip) && unlikely(do_firewall(&p))) {
		add(&n->dropped[FIREWALL], p.len);
		return DROP;
	}
	if (unlikely(group)) {
		finish(ctx, &p);
		return flood(ctx, group, p.port);
	}
	return leave(ctx, &p);
}

char LICENSE[] SEC("license") = "GPL";
