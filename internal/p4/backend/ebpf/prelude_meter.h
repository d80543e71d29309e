/* Two-rate three-colour markers, colour-blind (RFC 2698 section 3). */
struct meter {
	struct bpf_spin_lock lock;
	u32 on;
	u64 cir, cbs, pir, pbs;
	u64 last;            /* ns */
	u64 committed, peak; /* tokens * METER_SCALE */
};

#define METER_SCALE 1000000000ULL

/* Adds dt nanoseconds' worth of tokens, without overflow. */
static __always_inline u64 refill(u64 tokens, u64 dt, u64 rate, u64 burst)
{
	u64 room = burst * METER_SCALE - tokens;
	if (!rate)
		return tokens;
	if (dt >= room / rate)
		return burst * METER_SCALE;
	return tokens + dt * rate;
}

static __always_inline u8 run_meter(void *map, u32 index, u64 units)
{
	struct meter *m = bpf_map_lookup_elem(map, &index);
	if (!m || !m->on)
		return 0;
	u64 now = bpf_ktime_get_ns();
	u8 colour = 0;
	units *= METER_SCALE;
	bpf_spin_lock(&m->lock);
	u64 dt = m->last && now > m->last ? now - m->last : 0;
	m->last = now;
	m->committed = refill(m->committed, dt, m->cir, m->cbs);
	m->peak = refill(m->peak, dt, m->pir, m->pbs);
	if (m->peak < units) {
		colour = 2;
	} else {
		m->peak -= units;
		if (m->committed < units)
			colour = 1;
		else
			m->committed -= units;
	}
	bpf_spin_unlock(&m->lock);
	return colour;
}
