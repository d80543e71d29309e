static long sum_chunk(u32 i, struct payload *p)
{
	u8 *c = p->x->chunk;
	u32 n = chunk_size(p, i);
	asm volatile("" : "+r"(n));
	if (!n || n > SCRATCH_CHUNK)
		return 1;
	if (packet_load(p->ctx, p->from + i * SCRATCH_CHUNK, c, n))
		return 1;
	c[n] = c[n + 1] = c[n + 2] = 0;
	n = (n + 3) & ~3U;
	asm volatile("" : "+r"(n));
	if (n > SCRATCH_CHUNK)
		return 1;
	p->sum = bpf_csum_diff(0, 0, (__be32 *)c, n, p->sum);
	return 0;
}

/* The sum of the 16-bit words from an offset to the packet's end, folded. */
static __noinline u32 payload_sum(ctx_t *ctx, u32 from, u32 length)
{
	u32 zero = 0;
	struct payload p = { .ctx = ctx, .from = from, .length = length };
	p.x = bpf_map_lookup_elem(&scratch, &zero);
	if (!p.x)
		return 0;
	bpf_loop(65536 / SCRATCH_CHUNK + 1, sum_chunk, &p, 0);
	return bpf_ntohs(fold((u32)p.sum));
}
