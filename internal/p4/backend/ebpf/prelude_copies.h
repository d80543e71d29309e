/*
 * The traffic manager's queue of copies. A job is a state of the packet and the list of
 * replicas that it is sent to. Egress and deparser run for each copy, and what they did
 * to the packet is undone for the next.
 */
struct job {
	struct state before; /* egress */
	u32 clone;           /* id is a clone session, not a multicast group */
	u32 id;
	u32 cut; /* the session's truncation: bytes to leave, plus one; or 0 */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, MAX_JOBS);
	__type(key, u32);
	__type(value, struct job);
} jobs SEC(".maps");

#define NO_JOB 0xffffffff
#define MAX_TAIL 9216

struct queue {
	u32 n;        /* jobs */
	u32 at;       /* the first one not looked at */
	u32 job;      /* at hand */
	u32 next;     /* replica of the job at hand */
	u32 waiting;  /* jobs that cut the packet: they come last */
	u32 spoiled;  /* the packet cannot be made what it was */
	u32 length;   /* of the packet as it was */
	u32 depth;    /* bytes in head */
	u32 cut[MAX_JOBS]; /* of jobs that wait */
	struct state now;
	u8 head[MAX_DEPTH + 8];
	u8 tail[MAX_TAIL + 8];
	struct kept kept;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct queue);
} queue SEC(".maps");

static __always_inline struct queue *the_queue(void)
{
	u32 zero = 0;
	return bpf_map_lookup_elem(&queue, &zero);
}

/* Saves the front of the packet, which nothing has changed yet. */
__noinline int open_queue(ctx_t *ctx, u32 first, u32 depth)
{
	u32 zero = 0;
	struct queue *q = the_queue();
	struct scratch *x = bpf_map_lookup_elem(&scratch, &zero);
	if (!q || !x)
		return -1;
	x->exact = 1;
	if (first) {
		q->n = q->at = q->next = q->waiting = q->spoiled = q->depth = 0;
		q->job = NO_JOB;
		q->length = wire_length(ctx);
	}
	if (depth <= q->depth)
		return 0;
	asm volatile("" : "+r"(depth));
	if (depth > MAX_DEPTH || !depth)
		return -1;
	if (packet_load(ctx, 0, q->head, depth))
		return -1;
	q->depth = depth;
	return 0;
}

static __always_inline struct job *add_job(struct queue *q, u32 clone, u32 id, u32 cut)
{
	u32 n = q->n;
	asm volatile("" : "+r"(n));
	if (n >= MAX_JOBS)
		return 0;
	u32 number = n; /* in memory, of which the verifier knows less */
	struct job *j = bpf_map_lookup_elem(&jobs, &number);
	if (!j)
		return 0;
	j->clone = clone;
	j->id = id;
	j->cut = cut;
	q->cut[n] = cut;
	q->waiting += cut != 0;
	q->n = n + 1;
	return j;
}

/* Makes the packet what it was: egress and deparser have changed its front. */
static __noinline int put_back(ctx_t *ctx, u32 parsed)
{
	u32 zero = 0;
	struct queue *q = the_queue();
	if (!q)
		return -1;
	u32 now = wire_length(ctx) + parsed - q->length;
	asm volatile("" : "+r"(parsed));
	if (parsed > MAX_DEPTH || packet_resize(ctx, bpf_map_lookup_elem(&scratch, &zero), now, parsed) ||
	    parsed && packet_store(ctx, 0, q->head, parsed)) {
		q->n = q->waiting = 0;
		q->spoiled = 1;
		return -1;
	}
	return 0;
}

/*
 * Sends the first size bytes. The rest is put back behind them unless there is too much
 * of it, or the packet is one that the kernel has yet to cut into segments.
 */
static __noinline int send_cut(ctx_t *ctx, u32 ifindex, u32 size)
{
	struct queue *q = the_queue();
	u32 n = wire_length(ctx) - size;
	if (!q)
		return VERDICT_DROP;
	asm volatile("" : "+r"(n));
	int whole = 0;
	if (n && n <= MAX_TAIL && !ctx->gso_size)
		whole = !bpf_skb_load_bytes(ctx, size, q->tail, n);
	if (bpf_skb_change_tail(ctx, size, 0))
		return VERDICT_DROP;
	bpf_clone_redirect(ctx, ifindex, 0);
	if (whole) {
		asm volatile("" : "+r"(n));
		if (n && n <= MAX_TAIL && !bpf_skb_change_tail(ctx, size + n, 0) &&
		    !bpf_skb_store_bytes(ctx, size, q->tail, n, 0))
			return VERDICT_DROP;
	}
	q->spoiled = 1;
	q->length -= n;
	cut_end(n);
	return VERDICT_DROP;
}
