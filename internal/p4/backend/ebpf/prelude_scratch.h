/* Bytes of the packet at hand. */
#define SCRATCH_CHUNK 512

struct scratch {
	u32 exact; /* what is done to the packet's front will be undone */
	u8 head[2 * MAX_DEPTH + 8];
	u8 chunk[SCRATCH_CHUNK + 8];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct scratch);
} scratch SEC(".maps");

/* The way through the payload, one chunk after another. */
struct payload {
	ctx_t *ctx;
	struct scratch *x;
	u32 from;
	u32 to;
	u32 length; /* of the packet */
	u32 failed;
	s64 sum;
};

/* Bytes of chunk i, or 0 behind the end. */
static __always_inline u32 chunk_size(const struct payload *p, u32 i)
{
	u32 at = p->from + i * SCRATCH_CHUNK;
	u32 n = p->length - at;
	if (at >= p->length)
		return 0;
	return n < SCRATCH_CHUNK ? n : SCRATCH_CHUNK;
}

#ifndef TARGET_XDP
static long move_chunk(u32 i, struct payload *p)
{
	u32 n = chunk_size(p, i);
	asm volatile("" : "+r"(n));
	if (!n || n > SCRATCH_CHUNK)
		return 1;
	p->failed = bpf_skb_load_bytes(p->ctx, p->from + i * SCRATCH_CHUNK, p->x->chunk, n) ||
		    bpf_skb_store_bytes(p->ctx, p->to + i * SCRATCH_CHUNK, p->x->chunk, n, 0);
	return p->failed;
}

/* The same, from the last chunk on: to lies behind from. */
static long move_chunk_up(u32 i, struct payload *p)
{
	u32 chunks = (p->length - p->from + SCRATCH_CHUNK - 1) / SCRATCH_CHUNK;
	if (i >= chunks)
		return 1;
	return move_chunk(chunks - 1 - i, p);
}
#endif

/*
 * Makes the first from bytes of the packet to bytes long; what they are afterwards is
 * undefined, what follows them is not touched.
 */
__noinline int packet_resize(ctx_t *ctx, struct scratch *x, u32 from, u32 to)
{
	asm volatile("" : "+r"(ctx), "+r"(x)); /* global, so both have to be good even if unused */
	if (from == to)
		return 0;
#ifdef TARGET_XDP
	return bpf_xdp_adjust_head(ctx, (int)from - (int)to);
#else
	u32 len = ctx->len;
	if (!x || from > len)
		return -1;
	/*
	 * The kernel adds bytes in front, and with them its idea of where the network
	 * header begins moves; it cuts bytes there. What is to be undone is done and
	 * undone behind the Ethernet header, which works for IP packets, or by moving
	 * the payload, which is no way for packets yet to be cut into segments.
	 */
	int exact = KEEP_FRONT || x->exact;
	if (to > from && !exact)
		return bpf_skb_change_head(ctx, to - from, 0);
	if (from >= 14 && to >= 14 && !bpf_skb_adjust_room(ctx, (int)to - (int)from, BPF_ADJ_ROOM_MAC, BPF_F_ADJ_ROOM_FIXED_GSO))
		return 0;
	if (exact && ctx->gso_size)
		return -1;
	struct payload p = { .ctx = ctx, .x = x, .from = from, .to = to, .length = len };
	if (to > from) {
		if (bpf_skb_change_tail(ctx, len + (to - from), 0))
			return -1;
		bpf_loop(65536 / SCRATCH_CHUNK + 1, move_chunk_up, &p, 0);
		return p.failed ? -1 : 0;
	}
	/* Otherwise the payload moves to the front. */
	bpf_loop(65536 / SCRATCH_CHUNK + 1, move_chunk, &p, 0);
	return p.failed ? -1 : bpf_skb_change_tail(ctx, len - (from - to), 0);
#endif
}
