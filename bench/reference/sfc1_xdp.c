//go:build ignore

/* SFC1 of paper 003 (IDS, Firewall, NAT, L3fwd) by hand, for XDP, on a wire between two ports. It does what the
 * composed program does: tables that rules can be added to while packets flow, rules by scope, a counter for each
 * rule of the IDS and the firewall and for each NF, alerts. Ternary rules are in the kernel's hash map.
 *
 * What a compiler has to find out is used here as known: keys are packed for this chain, the chain is
 * straight-line code, the counters of its NFs share an element, and all changes of an address end in one update
 * of each checksum. */
#include "sfc.h"

struct ids_key {
	struct five five;
	u8 ttl, flags;
	u16 zero;
};

struct ids_mask {
	u32 id;
	u32 best;
	struct ids_key key;
	u32 zero;
} __attribute__((aligned(8)));

enum { PASS, BLOCK, ALERT, ALERT_AND_BLOCK };

struct {
	u32 now, zero;
	struct ids_mask masks[2][MAX_MASKS];
} ids_masks SEC(".data.ids");

u64 ids_filters[MAX_MASKS * FILTER_WORDS] SEC(".data.ids_filters");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct ids_key);
	__type(value, struct rule_value);
} ids SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 4097);
	__type(key, u32);
	__type(value, struct count);
} ids_hits SEC(".maps");

enum { IDS, FIREWALL, NAT, L3FWD, NODES };

struct nodes {
	struct count seen[NODES], dropped[NODES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct nodes);
} nodes SEC(".maps");

struct alert {
	u32 signature, src, dst, ports;
	u32 proto;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} events SEC(".maps");

static __always_inline const struct rule_value *signature(const struct ids_key *k)
{
	const struct ids_mask *m = ids_masks.masks[ids_masks.now & 1];
	const struct rule_value *best = 0;
	u32 priority = 0;

	for (int i = 0; i < MAX_MASKS && m[i].id && m[i].best > priority; i++) {
		const struct rule_value *v;
		struct ids_key t __attribute__((aligned(8)));

		u64 hash = mask_five(&t.five, &k->five, &m[i].key.five);
		u32 rest = *(const u32 *)&k->ttl & *(const u32 *)&m[i].key.ttl;

		*(u32 *)&t.ttl = rest;
		if (!may_have(ids_filters, m[i].id, hash + rest * HASH_2))
			continue;
		v = bpf_map_lookup_elem(&ids, &t);
		if (v && v->priority > priority) {
			priority = v->priority;
			best = v;
		}
	}
	return best;
}

/* do_ids tells whether the packet is to be dropped. */
static __always_inline int do_ids(struct packet *p)
{
	struct ids_key k __attribute__((aligned(8))) = { p->k, p->ttl, p->flags };
	const struct rule_value *rule = signature(&k);

	if (likely(!rule))
		return 0;
	count(&ids_hits, rule->index, p->len);
	if (rule->action >= ALERT) {
		struct alert a = { rule->signature, p->k.src, p->k.dst, p->k.ports, p->k.proto };

		bpf_ringbuf_output(&events, &a, sizeof(a), 0);
	}
	return rule->action == BLOCK || rule->action == ALERT_AND_BLOCK;
}

SEC("xdp")
int sfc1(ctx_t *ctx)
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

	add(&n->seen[IDS], p.len);
	if (likely(p.ip) && unlikely(do_ids(&p))) {
		add(&n->dropped[IDS], p.len);
		return DROP;
	}
	add(&n->seen[FIREWALL], p.len);
	if (likely(p.ip) && unlikely(do_firewall(&p))) {
		add(&n->dropped[FIREWALL], p.len);
		return DROP;
	}
	add(&n->seen[NAT], p.len);
	if (likely(p.ip))
		do_nat(&p);
	add(&n->seen[L3FWD], p.len);
	if (likely(p.ip) && unlikely(do_l3fwd(&p))) {
		add(&n->dropped[L3FWD], p.len);
		return DROP;
	}
	return leave(ctx, &p);
}

char LICENSE[] SEC("license") = "GPL";
