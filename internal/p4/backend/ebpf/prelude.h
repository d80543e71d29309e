/* What every program has: the two hooks, ports and events. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s64 s64;

#ifdef TARGET_XDP
#define HOOK "xdp"
typedef struct xdp_md ctx_t;
#define VERDICT_DROP XDP_DROP
#define VERDICT_NEXT XDP_PASS
#define IFINDEX(ctx) ((ctx)->ingress_ifindex)
#define packet_load bpf_xdp_load_bytes
#define packet_store bpf_xdp_store_bytes
#else
#define HOOK "tc"
typedef struct __sk_buff ctx_t;
#define VERDICT_DROP 2    /* TC_ACT_SHOT */
#define VERDICT_NEXT (-1) /* TC_ACT_UNSPEC: whatever stands behind on this hook */
#define IFINDEX(ctx) ((ctx)->ifindex)
#define packet_load bpf_skb_load_bytes
#define packet_store(ctx, off, from, n) bpf_skb_store_bytes(ctx, off, from, n, 0)
#endif

#define DROP_PORT 511
#define NOWHERE 0xffff /* of a header: it was not in the packet */

/* Validity is a bit for each header, all in one place. */
#define VALID(h) (s->valid[V_##h / 32] >> V_##h % 32 & 1)
#define SET_VALID(h) (s->valid[V_##h / 32] |= 1U << V_##h % 32)
#define SET_INVALID(h) (s->valid[V_##h / 32] &= ~(1U << V_##h % 32))
/* Whether the program assigned a header's field. */
#define WRITTEN_BIT(w) (1U << W_##w % 32)
#define SET_WRITTEN(w) (s->written[W_##w / 32] |= WRITTEN_BIT(w))
#define COPY_VALID(to, from)           \
	do {                           \
		if (VALID(from))       \
			SET_VALID(to); \
		else                   \
			SET_INVALID(to); \
	} while (0)

/*
 * Hides from the verifier what it knows of x. It looks at a program once for each
 * value of what it knows; after this it need not follow each way through the parser
 * to the end. After an "or" it would still know which bits are set.
 */
volatile u32 nothing;
#define FORGET(x) ((x) ^= nothing)

/* Where a header lies, in a way that shows the verifier how far that can be. */
#define PLACE(x) ((x) & 0x7ff)
#define AT(h) PLACE((h).at)

/* What an apply function returns: the action's number and flags. */
#define APPLY_ACTION 0xffff
#define APPLY_HIT (1 << 16)
#define APPLY_EXIT (1 << 17)

/* Bytes in the packet. */
static __always_inline u64 wire_length(ctx_t *ctx)
{
#ifdef TARGET_XDP
	u64 n = (long)ctx->data_end - (long)ctx->data;
	asm("" : "+r"(n)); /* a number from here on, no difference of pointers */
	return n;
#else
	return ctx->len;
#endif
}

/* What seldom happens, and should not be in the way of the rest. */
#define RARE(x) __builtin_expect(!!(x), 0)

/* A packet ends before h + n. In test builds it may end before the kernel's frame. */
#ifdef TEST_BUILD
#define SHORT(h, off, n) RARE((h) + (n) > end || (off) + (n) > s->length)
#else
#define SHORT(h, off, n) RARE((h) + (n) > end)
#endif

/*
 * Makes the way on which it stands a block of its own, told apart by a number. What variables
 * have on this way only, such as nothing because a header is not there or a table was not
 * applied, is set in it; otherwise clang would set it in front of the test, on the way of all.
 */
#define OWN_BLOCK asm volatile("" : : "i"(__COUNTER__))

/* Leaves the parser. */
#define END_PARSER          \
	do {                \
		OWN_BLOCK;  \
		goto done;  \
	} while (0)

/* Tells the verifier, and hides from clang, that x is at most max. */
#define BOUND(x, max)                          \
	do {                                   \
		asm volatile("" : "+r"(x));    \
		if ((x) > (max))               \
			(x) = (max);           \
	} while (0)

/* More bytes of headers than the program looks at; tells the verifier so, too. */
#define TOO_DEEP(off)                       \
	({                                  \
		asm volatile("" : "+r"(off)); \
		(off) > MAX_DEPTH;          \
	})

/* The signed number that the low w bits of x are. */
#define SIGNED(x, w) ((s64)((u64)(x) << (64 - (w))) >> (64 - (w)))

/* The word of eight bytes that has x, of the given type, at a place in it. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LANE(type, x, at) ((u64)(type)(x) << 8 * (at))
#define LOW_LANES(w) ((u32)(w))
#define NEXT_LANES(w) ((u16)((w) >> 32))
#else
#define LANE(type, x, at) ((u64)(type)(x) << 8 * (8 - (at) - sizeof(type)))
#define LOW_LANES(w) ((u32)((u64)(w) >> 32))
#define NEXT_LANES(w) ((u16)((w) >> 16))
#endif

/* Big-endian numbers of whole bytes. */
#define be16(p) bpf_ntohs(*(const u16 *)(p))
#define be32(p) bpf_ntohl(*(const u32 *)(p))
#define be64(p) bpf_be64_to_cpu(*(const u64 *)(p))
#define be24(p) ((u32)be16(p) << 8 | ((const u8 *)(p))[2])
#define be40(p) ((u64)be32(p) << 8 | ((const u8 *)(p))[4])
#define be48(p) (bpf_be64_to_cpu(LANE(u32, *(const u32 *)(p), 0) | LANE(u16, *(const u16 *)((const u8 *)(p) + 4), 4)) >> 16)
#define be56(p) ((u64)be32(p) << 24 | be24((const u8 *)(p) + 4))

static __always_inline void store48(u8 *p, u64 x)
{
	u64 w = bpf_cpu_to_be64(x << 16);
	*(u32 *)p = LOW_LANES(w);
	*(u16 *)(p + 4) = NEXT_LANES(w);
}

/* Folds a sum of 16-bit words (RFC 1071), which may stand side by side in larger ones; below 2^60. */
static __always_inline u16 fold(u64 sum)
{
	sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum + (sum >> 16);
}

/* The checksum that follows old when the words that it covers change by a sum (RFC 1624). */
static __always_inline u16 adjust(u16 old, u64 sum)
{
	u16 now = ~fold((u16)~old + sum);
	if (RARE(old == 0xffff) && !now)
		return old; /* zero has two forms, and nothing changed */
	return now;
}

struct port_in {
	u32 port;
	u32 flags;
};

struct port_out {
	u32 ifindex;
	u32 flags;
};

#define PORT_INJECT 1
#define PORT_PAD_SHIFT 16
#define PORT_TO_RING 1
#define PORT_PEER 2

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, u32);
	__type(value, struct port_in);
} ports_in SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 512);
	__type(key, u32);
	__type(value, struct port_out);
} ports_out SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} events SEC(".maps");

struct event {
	u32 kind;
	u32 id;
	u32 len;
	u32 orig;
};

#define EVENT_PACKET 1
#define EVENT_DIGEST 2

/* Packets to user space: short ones take a small piece of the ring. */
#define RING_SMALL 512
#define RING_LARGE 9216

#define RING_COPY(size)                                                       \
	do {                                                                  \
		struct {                                                      \
			struct event h;                                       \
			u8 data[size];                                        \
		} *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);           \
		if (!e)                                                       \
			break;                                                \
		e->h.kind = EVENT_PACKET;                                     \
		e->h.id = port;                                               \
		e->h.orig = len;                                              \
		u32 n = len;                                                  \
		asm volatile("" : "+r"(n));                                   \
		if (n > size)                                                 \
			n = size;                                             \
		e->h.len = n;                                                 \
		if (n && packet_load(ctx, 0, e->data, n))                     \
			bpf_ringbuf_discard(e, 0);                            \
		else                                                          \
			bpf_ringbuf_submit(e, 0);                             \
	} while (0)

__noinline int to_ring(ctx_t *ctx, u32 port, u32 len)
{
	if (len <= RING_SMALL)
		RING_COPY(RING_SMALL);
	else
		RING_COPY(RING_LARGE);
	return VERDICT_DROP;
}

struct counter {
	u64 packets;
	u64 bytes;
};

static __always_inline void add_packet(struct counter *c, u64 length)
{
	c->packets++;
	c->bytes += length;
}

static __always_inline void count_packet(void *map, u32 index, u64 length)
{
	struct counter *c = bpf_map_lookup_elem(map, &index);
	if (c)
		add_packet(c, length);
}

/* In a map whose elements are COUNTER_GROUP counters each. */
struct counter_group {
	struct counter c[COUNTER_GROUP];
};

static __always_inline void count_in_group(void *map, u32 index, u64 length)
{
	u32 group = index / COUNTER_GROUP;
	struct counter_group *g = bpf_map_lookup_elem(map, &group);
	if (g)
		add_packet(&g->c[index % COUNTER_GROUP], length);
}

static __always_inline void *first_element(void *map)
{
	u32 zero = 0;
	return bpf_map_lookup_elem(map, &zero);
}

/* The low byte of x; tells the verifier so, too, where clang knows that there is no more. */
#define LOW_BYTE(x)                           \
	({                                    \
		u32 _b = (x);                 \
		asm("" : "+r"(_b));           \
		_b & 0xff;                    \
	})

/* Has a value computed once, and not again wherever it is used. */
#define HELD(x) asm("" : "+r"(x))

/* A shift by the last six bits of n, as the machine does it. */
#define SHIFT_RIGHT(x, n) asm("%0 >>= %1" : "+r"(x) : "r"(n))

/* A place in data that is longer than the text says: see Spec.Room. Found when needed, as it is not where time counts. */
#define ROOM(data, i)                          \
	({                                     \
		typeof(&(data)[0]) p = (data); \
		asm volatile("" : "+r"(p));    \
		p + (i);                       \
	})

/* An index is one of an array; tells the verifier so, too. */
#define IN_ARRAY(i, size)            \
	({                           \
		asm("" : "+r"(i));   \
		(i) < (size);        \
	})
