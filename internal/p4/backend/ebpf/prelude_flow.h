/* State of flows: values by key, each as long as it is used. */
struct flow {
	u64 value;
	u32 used; /* when, in seconds */
	u32 life; /* seconds that it may lie unused */
};

static __always_inline u32 seconds(void)
{
	return bpf_ktime_get_coarse_ns() / 1000000000;
}

static __always_inline u64 read_flow(void *map, const u64 *key)
{
	struct flow *f = bpf_map_lookup_elem(map, key);
	if (!f)
		return 0;
	/* Another CPU may have used it a moment later than this one looked at the clock. */
	u32 now = seconds();
	if ((int)(now - f->used) > (int)f->life)
		return 0;
	if (f->used != now) /* most packets leave the cache line alone */
		f->used = now;
	return f->value;
}

static __always_inline void write_flow(void *map, const u64 *key, u64 value, u32 life)
{
	if (!life || !value) {
		bpf_map_delete_elem(map, key);
		return;
	}
	struct flow f = {value, seconds(), life < 0x7fffffff ? life : 0x7fffffff};
	bpf_map_update_elem(map, key, &f, BPF_ANY);
}
