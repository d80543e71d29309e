//go:build ignore

/* The least that a TC program can do between two veths: every packet goes to one
 * interface, unseen. No switch that looks at its packets can be faster on this hook.
 * Loaded once for each direction, with `to` set. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

const volatile __u32 to = 0; /* ifindex */

/* By the host's end of the other veth, whose peer queues the packet anew. */
SEC("tc")
int redirect(struct __sk_buff *skb)
{
	return bpf_redirect(to, 0);
}

/* Straight to the other veth's peer, past its queue. */
SEC("tc")
int redirect_peer(struct __sk_buff *skb)
{
	return bpf_redirect_peer(to, 0);
}

char LICENSE[] SEC("license") = "GPL";
