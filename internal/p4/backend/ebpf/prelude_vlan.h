#ifdef TARGET_TC
/*
 * The kernel keeps the outer VLAN tag beside the packet. P4 wants it in the packet,
 * where it was on the wire; a second tag comes out in turn.
 */
static __noinline int restore_vlan(ctx_t *ctx)
{
	u32 tags[2] = {};
	u32 n = 0;
	for (u32 i = 0; i < 2; i++) {
		if (!ctx->vlan_present)
			break;
		tags[i] = (u32)bpf_ntohs(ctx->vlan_proto) << 16 | (ctx->vlan_tci & 0xffff);
		n = i + 1;
		if (bpf_skb_vlan_pop(ctx))
			return -1;
	}
	if (ctx->vlan_present || bpf_skb_change_head(ctx, 4 * n, 0))
		return -1;
	u8 *h = (u8 *)(long)ctx->data;
	u8 *end = (u8 *)(long)ctx->data_end;
	if (h + 14 + 8 > end) {
		if (bpf_skb_pull_data(ctx, 14 + 8))
			return -1;
		h = (u8 *)(long)ctx->data;
		end = (u8 *)(long)ctx->data_end;
		if (h + 14 + 8 > end)
			return -1;
	}
	if (n == 2) {
		for (u32 i = 0; i < 12; i++)
			h[i] = h[i + 8];
		*(u32 *)(h + 16) = bpf_htonl(tags[1]);
	} else {
		for (u32 i = 0; i < 12; i++)
			h[i] = h[i + 4];
	}
	*(u32 *)(h + 12) = bpf_htonl(tags[0]);
	return 0;
}
#endif
