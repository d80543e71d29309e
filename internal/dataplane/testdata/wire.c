// A program by hand for the switch's tests: port 1 and port 2 are one wire. It keeps
// to the conventions of package ebpf. VERSION marks the packets, in the last byte of
// the Ethernet source address.
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

struct port_in { __u32 port, flags; };
struct port_out { __u32 ifindex, flags; };
struct event { __u32 kind, id, len, orig; __u8 data[64]; };
struct cell { __u64 packets, bytes; };

struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 512); __type(key, __u32); __type(value, struct port_in); } ports_in SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 512); __type(key, __u32); __type(value, struct port_out); } ports_out SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_RINGBUF); __uint(max_entries, 1 << 16); } events SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY); __uint(max_entries, 512); __type(key, __u32); __type(value, struct cell); } seen SEC(".maps");

#ifdef TARGET_XDP
#define CTX struct xdp_md
#define IFINDEX ctx->ingress_ifindex
#define DROP XDP_DROP
SEC("xdp")
#else
#define CTX struct __sk_buff
#define IFINDEX ctx->ifindex
#define DROP TC_ACT_SHOT
SEC("tc")
#endif
int catena(CTX *ctx)
{
	__u32 ifindex = IFINDEX;
	struct port_in *in = bpf_map_lookup_elem(&ports_in, &ifindex);
	if (!in)
		return DROP;
	__u32 port = in->port;
	__u8 *data = (__u8 *)(long)ctx->data, *end = (__u8 *)(long)ctx->data_end;
	if (data + 14 > end)
		return DROP;
	struct cell *c = bpf_map_lookup_elem(&seen, &port);
	if (c) {
		c->packets++;
		c->bytes += end - data;
	}
	data[11] = VERSION;
	__u32 to = port == 1 ? 2 : 1;
	if (port == 510)
		to = data[5]; // the last byte of the destination names the port
	if (data[12] == 0x88 && data[13] == 0xb5 && port != 510) {
		__u32 kind = data[5] == 0xdd ? 2 : 1;
		struct event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
		if (!e)
			return DROP;
		e->kind = kind;
		e->id = kind == 2 ? 0 : 510;
		e->len = kind == 2 ? 7 : 14;
		e->orig = end - data;
		for (int i = 0; i < 14; i++)
			e->data[i] = data[i];
		bpf_ringbuf_submit(e, 0);
		return DROP;
	}
	struct port_out *out = bpf_map_lookup_elem(&ports_out, &to);
	if (!out || !out->ifindex)
		return DROP;
#ifndef TARGET_XDP
	if (in->flags & 1) {
		bpf_clone_redirect(ctx, out->ifindex, 0);
		return DROP;
	}
	if (out->flags & 2)
		return bpf_redirect_peer(out->ifindex, 0);
#endif
	return bpf_redirect(out->ifindex, 0);
}

char _license[] SEC("license") = "GPL";
