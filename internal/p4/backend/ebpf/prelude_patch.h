/* Adds a difference to a checksum over payload, in the packet. */
static __always_inline void patch_checksum(ctx_t *ctx, u32 off, u64 own, u64 pseudo, int udp)
{
#ifdef TARGET_XDP
	u8 *h = (u8 *)(long)ctx->data + PLACE(off);
	if (RARE(h + 2 > (u8 *)(long)ctx->data_end))
		return;
	u16 sum = adjust(be16(h), own + pseudo);
	if (udp && RARE(!sum))
		sum = 0xffff;
	*(u16 *)h = bpf_htons(sum);
#else
	/* The kernel knows whether the sum is complete or left to a NIC. */
	u64 flags = udp ? BPF_F_MARK_MANGLED_0 : 0;
	u16 mine = fold(own), others = fold(pseudo);
	if (mine && mine != 0xffff)
		bpf_l4_csum_replace(ctx, off, 0, bpf_htons(mine), flags);
	if (others && others != 0xffff)
		bpf_l4_csum_replace(ctx, off, 0, bpf_htons(others), flags | BPF_F_PSEUDO_HDR);
#endif
}
