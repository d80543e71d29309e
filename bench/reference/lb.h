/* The load balancer of the hand-written chains. Behind sfc.h. */
struct service {
	u32 addr;
	u16 port;
	u8 proto;
	u8 zero;
	u32 scope;
};

/* The first eight bytes of it. */
#define SERVICE(addr, port, proto) ((u64)(addr) | (u64)(port) << 32 | (u64)(proto) << 48)

struct balance {
	u16 group, members;
};

struct member {
	u16 group, index;
	u32 scope;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct service);
	__type(value, struct balance);
} lb_services SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct member);
	__type(value, u32);
} lb_members SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct service);
	__type(value, u32);
} lb_replies SEC(".maps");

/* Of the CRC-32 of eight bytes, byte 0 to 7: "slicing by 8". Filled before loading. */
const volatile u32 crc_tables[8][256] = {};

#define T(n, byte) crc_tables[n][(byte) & 0xff]

/* crc is the CRC-32 of source, destination, protocol and ports, thirteen bytes as in the packet. */
static __always_inline u32 crc(const struct five *k)
{
	u32 c = ~0U, a = k->src ^ c, b = k->dst;
	u32 ports = k->ports;

	c = T(7, a) ^ T(6, a >> 8) ^ T(5, a >> 16) ^ T(4, a >> 24) ^ T(3, b) ^ T(2, b >> 8) ^ T(1, b >> 16) ^ T(0, b >> 24);
	a = (u32)k->proto | ports << 8; /* the protocol and three bytes of the ports */
	a ^= c;
	c = T(3, a) ^ T(2, a >> 8) ^ T(1, a >> 16) ^ T(0, a >> 24);
	c = T(0, c ^ ports >> 24) ^ c >> 8;
	return ~c;
}

static __always_inline void do_lb(struct packet *p)
{
	u64 to[2] = { SERVICE(p->k.dst, p->k.ports >> 16, p->k.proto), p->scope };
	struct balance *balance;
	u32 *addr;

	balance = bpf_map_lookup_elem(&lb_services, to);
	if (balance) {
		u32 members = balance->members;
		u64 m = (u64)p->scope << 32 | (members ? crc(&p->k) % members : 0) << 16 | balance->group; /* struct member */

		addr = bpf_map_lookup_elem(&lb_members, &m);
		if (addr)
			set_destination(p, *addr);
	} else {
		u64 from[2] = { SERVICE(p->k.src, p->k.ports & 0xffff, p->k.proto), p->scope };

		addr = bpf_map_lookup_elem(&lb_replies, from);
		if (addr)
			set_source(p, *addr);
	}
}
