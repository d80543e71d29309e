/*
 * Packets that wait to start again, where a packet has copies. The kernel has one packet at
 * hand: those that wait share its end, and each has a front of its own, which is put before
 * the end when it is its turn. Those that are cut come last, the longest first, so that what
 * one leaves of the end is enough for the others.
 */
#define MAX_TURNS 64
#define MAX_FRONT 4096
#define FRONT_ROOM 2048 /* of the packet's own bytes: what is parsed in later passes, too */
#define NO_TURN MAX_TURNS
#define NO_END 0xffffffff

struct turn {
	u32 flags; /* of the port, with the padding */
	u32 list;  /* what it keeps: the number of a field list, plus one */
	u32 front; /* bytes */
	struct kept kept;
	u8 bytes[MAX_FRONT + 8];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, MAX_TURNS);
	__type(key, u32);
	__type(value, struct turn);
} turns SEC(".maps");

struct line {
	u32 n;     /* turns taken */
	u32 last;  /* number that was given */
	u32 end;   /* bytes that those that wait share, or NO_END: not known yet */
	u32 lost;  /* of these the last that the packet at hand does not have any more */
	u64 order[MAX_TURNS]; /* of a turn: how much of the end it lacks, then its number; 0: free */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct line);
} line SEC(".maps");

static __always_inline struct line *the_line(void)
{
	return first_element(&line);
}

/* Whether packets wait, so that the one at hand is still needed. */
static __always_inline int turns_wait(void)
{
	struct line *l = the_line();
	return l && l->n;
}

/* Whether no packet waits but the one that has the turn, or none. */
static __always_inline int alone(u32 turn)
{
	struct line *l = the_line();
	return !l || l->n == (turn != NO_TURN);
}

/* Forgets what the last packet left: what could not be made any more. */
static __always_inline void open_line(void)
{
	struct line *l = the_line();
	if (!l)
		return;
	l->lost = 0;
	if (!RARE(l->n))
		return;
	l->n = 0;
	clear_words(l->order, MAX_TURNS);
}

/* The packet has lost its last n bytes. */
static __always_inline void cut_end(u32 n)
{
	struct line *l = the_line();
	if (l)
		l->lost += n;
}

struct search {
	struct line *l;
	u64 best;
	u32 next;
	u32 free;
};

static long look_at_turn(u32 i, struct search *x)
{
	if (i >= MAX_TURNS)
		return 1;
	u64 order = x->l->order[i];
	if (!order) {
		if (x->free == NO_TURN)
			x->free = i;
	} else if (order < x->best && (u32)(order >> 32) >= x->l->lost) {
		x->best = order;
		x->next = i;
	}
	return 0;
}

/* Gives a packet its turn, behind all others; NO_TURN if too many wait. */
static __noinline u32 take_turn(void)
{
	struct line *l = the_line();
	if (!l)
		return NO_TURN;
	struct search x = { .l = l, .best = ~0ULL, .next = NO_TURN, .free = NO_TURN };
	bpf_loop(MAX_TURNS, look_at_turn, &x, 0);
	u32 turn = x.free;
	asm volatile("" : "+r"(turn));
	if (turn >= MAX_TURNS)
		return NO_TURN;
	if (!l->n) {
		l->last = 0;
		l->end = NO_END;
	}
	l->n++;
	l->order[turn] = ++l->last;
	return turn;
}

static __always_inline void leave_turn(u32 turn)
{
	struct line *l = the_line();
	asm volatile("" : "+r"(turn));
	if (!l || turn >= MAX_TURNS)
		return;
	l->order[turn] = 0;
	l->n--;
}

/*
 * Saves the front of the packet, which the deparser has finished, for its turn. payload is how
 * much of the packet was not parsed, cut how many bytes to leave, plus one, or 0.
 */
static __noinline void save_front(ctx_t *ctx, struct turn *t, u32 turn, u32 payload, u32 cut)
{
	struct line *l = the_line();
	asm volatile("" : "+r"(turn));
	if (!l || turn >= MAX_TURNS)
		return;
	u32 len = wire_length(ctx);
	if (l->end == NO_END)
		l->end = payload > FRONT_ROOM ? payload - FRONT_ROOM : 0;
	u32 lacks = l->lost;
	if (payload + lacks < l->end)
		goto lost; /* its headers reach into what it shares */
	u32 front = len + lacks - l->end;
#ifdef TEST_BUILD
	/* a test's packet may be shorter than the kernel allows: the rest is padding */
	if (cut && cut - 1 < len - (t->flags >> PORT_PAD_SHIFT))
		t->flags = t->flags & ((1 << PORT_PAD_SHIFT) - 1) | len - (cut - 1) << PORT_PAD_SHIFT;
#else
	if (cut && cut - 1 < len) {
		lacks += len - (cut - 1);
		if (lacks > l->end) {
			lacks = l->end;
			front = cut - 1;
		}
	}
#endif
	t->front = front;
	asm volatile("" : "+r"(front));
	if (front > MAX_FRONT)
		goto lost;
	if (front && bpf_skb_load_bytes(ctx, 0, t->bytes, front))
		goto lost;
	l->order[turn] |= (u64)lacks << 32;
	return;
lost:
	leave_turn(turn);
}

/* Makes the packet at hand the one whose turn it is; 0 if there is none. */
static __noinline struct turn *next_turn(ctx_t *ctx)
{
	u32 zero = 0;
	struct line *l = the_line();
	struct scratch *x = bpf_map_lookup_elem(&scratch, &zero);
	if (!l || !x || !l->n)
		return 0;
	struct search s = { .l = l, .best = ~0ULL, .next = NO_TURN, .free = NO_TURN };
	bpf_loop(MAX_TURNS, look_at_turn, &s, 0);
	u32 turn = s.next;
	struct turn *t = bpf_map_lookup_elem(&turns, &turn);
	if (!t)
		return 0;
	leave_turn(turn);
	u32 front = t->front, lacks = s.best >> 32;
	if (packet_resize(ctx, x, wire_length(ctx) + l->lost - l->end, front))
		return 0;
	asm volatile("" : "+r"(front));
	if (front > MAX_FRONT || front && bpf_skb_store_bytes(ctx, 0, t->bytes, front, 0))
		return 0;
	if (lacks > l->lost) {
		l->lost = lacks;
		if (bpf_skb_change_tail(ctx, front + l->end - lacks, 0))
			return 0;
	}
	if (!l->n)
		l->lost = 0; /* it is the only one, and complete */
	return t;
}
