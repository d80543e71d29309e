/* What the hand-written chains have in common: ports, the maps and lookups of the NFs that several chains visit,
 * checksums. Keys are packed for the chains, and a mask is applied word by word. For XDP, or with HOOK_TC for TC. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "keys are put together for little endian"
#endif

#ifdef HOOK_TC
typedef struct __sk_buff ctx_t;
#define DROP 2 /* TC_ACT_SHOT */
#define INGRESS(ctx) ((ctx)->ifindex)
#else
typedef struct xdp_md ctx_t;
#define DROP XDP_DROP
#define INGRESS(ctx) ((ctx)->ingress_ifindex)
#endif

#define MAX_MASKS 64
#define NO_PORT 0
#define HEADERS (sizeof(struct ethhdr) + sizeof(struct iphdr) + sizeof(struct tcphdr))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* Ports. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 512);
	__type(key, u32); /* ifindex */
	__type(value, u32); /* port */
} ports_in SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 512);
	__type(key, u32); /* port */
	__type(value, u32); /* ifindex */
} ports_out SEC(".maps");

/* The key of classifier and firewall. Addresses and ports as in the packet. A packet has ones for the mask's number,
 * so that a mask brings its number into the key: a store of it alone would be one that the map's reads wait for. */
struct five {
	u32 src, dst;
	u32 ports; /* source port, destination port */
	u16 scope; /* of the classifier: the ingress port */
	u8 mask;
	u8 proto;
};

/* A tuple space: masks in the order of the best priority under them; id 0 ends the list. Of the two
 * generations `now` is in force, the other one is for the control plane to write. */
struct five_mask {
	u32 id;
	u32 best;
	struct five key;
} __attribute__((aligned(8)));

struct classifier_value {
	u32 priority;
	u16 scope;
	u16 path;
};

enum { ALLOW, DENY };

struct rule_value {
	u32 priority;
	u32 action;
	u32 index; /* of the rule's counter; 0 is the default action's */
	u32 signature;
};

struct {
	u32 now, zero;
	struct five_mask masks[2][MAX_MASKS];
} classifier_masks SEC(".data.classifier");

struct {
	u32 now, zero;
	struct five_mask masks[2][MAX_MASKS];
} firewall_masks SEC(".data.firewall");

/* Of each mask, by its number, the elements under it: a bit for each hash value, so that a mask with none for a packet
 * costs no search. */
#define FILTER_BITS 12
#define FILTER_WORDS (1 << FILTER_BITS >> 6)
#define HASH_0 0x9e3779b97f4a7c15ULL
#define HASH_1 0xbf58476d1ce4e5b9ULL
#define HASH_2 0x94d049bb133111ebULL

u64 classifier_filters[MAX_MASKS * FILTER_WORDS] SEC(".data.classifier_filters");
u64 firewall_filters[MAX_MASKS * FILTER_WORDS] SEC(".data.firewall_filters");

static __always_inline int may_have(const u64 *filters, u32 mask, u64 hash)
{
	u32 bit = hash >> (64 - FILTER_BITS);

	return filters[mask % MAX_MASKS * FILTER_WORDS + bit / 64] >> bit % 64 & 1;
}

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct five);
	__type(value, struct classifier_value);
} classifier SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct five);
	__type(value, struct rule_value);
} firewall SEC(".maps");

struct scoped {
	u32 addr;
	u32 scope;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct scoped);
	__type(value, u32);
} nat_source SEC(".maps"), nat_restore SEC(".maps");

struct prefix {
	u32 length;
	u32 scope;
	u32 addr;
};

struct route {
	u32 action; /* 0 pass, 1 forward, 2 drop */
	u32 port;
	u8 dst_mac[6], src_mac[6]; /* as in the packet */
};

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix);
	__type(value, u32); /* 1: drop */
} l3fwd_sources SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix);
	__type(value, struct route);
} l3fwd_routes SEC(".maps");

struct count {
	u64 packets, bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 16385);
	__type(key, u32);
	__type(value, struct count);
} firewall_hits SEC(".maps");

static __always_inline void add(struct count *c, u32 len)
{
	c->packets++;
	c->bytes += len;
}

static __always_inline void count(void *map, u32 index, u32 len)
{
	struct count *c = bpf_map_lookup_elem(map, &index);

	if (likely(c))
		add(c, len);
}

/* mask_five returns the sum that the filter's bit is taken from. */
static __always_inline u64 mask_five(struct five *t, const struct five *k, const struct five *m)
{
	u64 *out = (u64 *)t;
	const u64 *a = (const u64 *)k, *b = (const u64 *)m;
	u64 first = a[0] & b[0], second = a[1] & b[1];

	out[0] = first;
	out[1] = second;
	return first * HASH_0 + second * HASH_1;
}

static __always_inline const struct classifier_value *classify(const struct five *k)
{
	const struct five_mask *m = classifier_masks.masks[classifier_masks.now & 1];
	const struct classifier_value *best = 0;
	u32 priority = 0;

	for (int i = 0; i < MAX_MASKS && m[i].id && m[i].best > priority; i++) {
		const struct classifier_value *v;
		struct five t __attribute__((aligned(8)));

		if (!may_have(classifier_filters, m[i].id, mask_five(&t, k, &m[i].key)))
			continue;
		v = bpf_map_lookup_elem(&classifier, &t);
		if (v && v->priority > priority) {
			priority = v->priority;
			best = v;
		}
	}
	return best;
}

static __always_inline const struct rule_value *firewall_rule(const struct five *k)
{
	const struct five_mask *m = firewall_masks.masks[firewall_masks.now & 1];
	const struct rule_value *best = 0;
	u32 priority = 0;

	for (int i = 0; i < MAX_MASKS && m[i].id && m[i].best > priority; i++) {
		const struct rule_value *v;
		struct five t __attribute__((aligned(8)));

		if (!may_have(firewall_filters, m[i].id, mask_five(&t, k, &m[i].key)))
			continue;
		v = bpf_map_lookup_elem(&firewall, &t);
		if (v && v->priority > priority) {
			priority = v->priority;
			best = v;
		}
	}
	return best;
}

/* fold brings a sum of ones' complement arithmetic to 16 bits. */
static __always_inline u16 fold(u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + ((sum >> 16) & 0xffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

static __always_inline int out(u32 port)
{
	u32 *ifindex = bpf_map_lookup_elem(&ports_out, &port);

	if (unlikely(!ifindex || !*ifindex))
		return DROP;
	return bpf_redirect(*ifindex, 0);
}

/* A packet on its way. */
struct packet {
	struct ethhdr *eth;
	struct iphdr *ip; /* 0: none */
	u16 *check; /* of TCP or UDP, 0: none */
	u32 check_at; /* the same as an offset */
	struct five k __attribute__((aligned(8)));
	u8 ttl, flags;
	u32 len, port, scope, egress;
	u64 addresses; /* what changed of them, as a sum of ones' complement arithmetic */
	u32 hop; /* the same of the time to live */
};

/* parse finds the headers. Ports stand only behind a header without options, in the first fragment. */
static __always_inline int parse(ctx_t *ctx, struct packet *p)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	u32 ingress = INGRESS(ctx), *port;
	struct iphdr *ip;

#ifdef HOOK_TC
	u64 want = ctx->len < HEADERS ? ctx->len : HEADERS;

	if (unlikely(data + want > end)) {
		if (bpf_skb_pull_data(ctx, want))
			return -1;
		data = (void *)(long)ctx->data;
		end = (void *)(long)ctx->data_end;
	}
#endif
	p->eth = data;
#ifdef HOOK_TC
	p->len = ctx->len;
#else
	p->len = end - data;
#endif
	port = bpf_map_lookup_elem(&ports_in, &ingress);
	if (unlikely(!port || (void *)(p->eth + 1) > end))
		return -1;
	p->port = *port;
	p->k.scope = *port;
	p->k.mask = 0xff;
	if (unlikely(((u16 *)data)[6] != bpf_htons(ETH_P_IP)))
		return 0;
#ifdef HOOK_TC
	if (unlikely(ctx->vlan_present))
		return 0; /* the kernel has taken the tag out */
#endif
	ip = (void *)(p->eth + 1);
	if (unlikely((void *)(ip + 1) > end))
		return -1;
	p->ip = ip;
	p->k.src = ip->saddr;
	p->k.dst = ip->daddr;
	p->k.proto = ip->protocol;
	p->ttl = ip->ttl;
	if (unlikely(ip->ihl != 5 || ip->frag_off & bpf_htons(0x1fff)))
		return 0;
	if (ip->protocol == IPPROTO_TCP) {
		struct tcphdr *tcp = (void *)(ip + 1);

		if (unlikely((void *)(tcp + 1) > end))
			return -1;
		p->k.ports = *(u32 *)tcp;
		p->flags = ((u8 *)tcp)[13];
		p->check = &tcp->check;
		p->check_at = ETH_HLEN + sizeof(*ip) + offsetof(struct tcphdr, check);
	} else if (ip->protocol == IPPROTO_UDP) {
		struct udphdr *udp = (void *)(ip + 1);

		if (unlikely((void *)(udp + 1) > end))
			return -1;
		p->k.ports = *(u32 *)udp;
		if (udp->check)
			p->check = &udp->check;
		p->check_at = ETH_HLEN + sizeof(*ip) + offsetof(struct udphdr, check);
	}
	return 0;
}

static __always_inline void set_source(struct packet *p, u32 to)
{
	p->addresses += (u64)(u32)~p->k.src + to;
	p->k.src = to;
	p->ip->saddr = to;
}

static __always_inline void set_destination(struct packet *p, u32 to)
{
	p->addresses += (u64)(u32)~p->k.dst + to;
	p->k.dst = to;
	p->ip->daddr = to;
}

/* do_firewall tells whether the packet is to be dropped. Direct counters count hits: the default action has none. */
static __always_inline int do_firewall(struct packet *p)
{
	const struct rule_value *rule = firewall_rule(&p->k);

	if (!rule)
		return 0;
	count(&firewall_hits, rule->index, p->len);
	return rule->action != ALLOW;
}

static __always_inline void do_nat(struct packet *p)
{
	u64 from = (u64)p->scope << 32 | p->k.src, to = (u64)p->scope << 32 | p->k.dst; /* struct scoped */
	u32 *addr;

	addr = bpf_map_lookup_elem(&nat_source, &from);
	if (addr)
		set_source(p, *addr);
	addr = bpf_map_lookup_elem(&nat_restore, &to);
	if (addr)
		set_destination(p, *addr);
}

/* do_l3fwd tells whether the packet is to be dropped. */
static __always_inline int do_l3fwd(struct packet *p)
{
	u64 words[2] = { 64ULL << 32, (u64)p->k.src << 32 | p->scope };
	void *key = (u32 *)words + 1; /* struct prefix, its data in one word */
	struct route *route;
	u32 *drop;

	if (unlikely(p->ttl <= 1))
		return 1;
	drop = bpf_map_lookup_elem(&l3fwd_sources, key);
	if (unlikely(drop && *drop))
		return 1;
	words[1] = (u64)p->k.dst << 32 | p->scope;
	route = bpf_map_lookup_elem(&l3fwd_routes, key);
	if (unlikely(!route))
		return 0;
	if (unlikely(route->action == 2))
		return 1;
	if (likely(route->action == 1)) {
		p->egress = route->port;
		((u32 *)p->eth)[0] = ((u32 *)route->dst_mac)[0];
		((u32 *)p->eth)[1] = ((u32 *)route->dst_mac)[1];
		((u32 *)p->eth)[2] = ((u32 *)route->dst_mac)[2];
		p->ip->ttl = p->ttl - 1;
		p->hop = (u16)~bpf_htons(0x0100);
	}
	return 0;
}

/* finish brings the checksums up to date. */
static __always_inline void finish(ctx_t *ctx, struct packet *p)
{
	if (unlikely(!p->ip))
		return;
	if (p->addresses + p->hop && likely(p->ip->ihl == 5))
		p->ip->check = ~fold((u16)~p->ip->check + p->addresses + p->hop);
	if (!p->check || !p->addresses)
		return;
#ifdef HOOK_TC
	/* The kernel knows whether the sum is complete or left to a NIC. */
	bpf_l4_csum_replace(ctx, p->check_at, 0, fold(p->addresses),
			    BPF_F_PSEUDO_HDR | (p->k.proto == IPPROTO_UDP ? BPF_F_MARK_MANGLED_0 : 0));
#else
	u16 sum = ~fold((u16)~*p->check + p->addresses);

	/* A UDP checksum of zero would mean that there is none. */
	if (!sum && p->k.proto == IPPROTO_UDP)
		sum = 0xffff;
	*p->check = sum;
#endif
}

/* leave sends the finished packet to where it was forwarded, or else to the wire's other end. */
static __always_inline int leave(ctx_t *ctx, struct packet *p)
{
	finish(ctx, p);
	return out(p->egress != NO_PORT ? p->egress : p->port ^ 3);
}
