/* Adds a difference to a checksum over payload, in the packet (RFC 1624). */
static __always_inline void patch_checksum(ctx_t *ctx, u32 off, u16 own, u16 pseudo, int udp)
{
#ifdef TARGET_XDP
	u8 *h = (u8 *)(long)ctx->data + PLACE(off);
	if (h + 2 > (u8 *)(long)ctx->data_end)
		return;
	u16 sum = ~fold((u64)(u16)~be16(h) + own + pseudo);
	if (udp && !sum)
		sum = 0xffff;
	*(u16 *)h = bpf_htons(sum);
#else
	/* The kernel knows whether the sum is complete or left to a NIC. */
	u64 flags = udp ? BPF_F_MARK_MANGLED_0 : 0;
	if (own && own != 0xffff)
		bpf_l4_csum_replace(ctx, off, 0, bpf_htons(own), flags);
	if (pseudo && pseudo != 0xffff)
		bpf_l4_csum_replace(ctx, off, 0, bpf_htons(pseudo), flags | BPF_F_PSEUDO_HDR);
#endif
}
