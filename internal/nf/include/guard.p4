// What a secured port may send and receive (docs/adr/0003-security-groups.md): part
// of the backbone vrouter when it is compiled with GUARD.
#ifndef CATENA_GUARD_P4
#define CATENA_GUARD_P4

// Whether an IPv4 packet may pass a port: by the state of its flow, else by the
// policy's rules. inbound: the packet goes to the port.
control Guard(in headers hdr, in metadata meta, in bit<9> port, in bit<32> policy,
              in bool inbound, out bool pass) {
    // Sets of remotes: those that may use what the packet asks for, and those that its
    // remote address is of.
    bit<128> allowed = 0;
    bit<128> member = 0;

    action allow(bit<128> remotes) {
        allowed = remotes;
    }

    action is_of(bit<128> remotes) {
        member = remotes;
    }

    bit<16> service;
    flow_t  flow;

    // Protocol and destination port, or ICMP type and code. The longest prefix holds
    // what shorter ones allow, too.
    table rules {
        key = {
            policy:                         exact @name("policy");
            hdr.ipv4.protocol ++ service:   lpm   @name("service");
        }
        actions = { allow; NoAction; }
        default_action = NoAction();
        size = 65536;
    }

    table remotes {
        key = {
            policy:      exact @name("policy");
            flow.remote: lpm   @name("address");
        }
        actions = { is_of; NoAction; }
        default_action = NoAction();
        size = 65536;
    }

    apply {
        pass = false;
        flow.port = port;
        flow.protocol = hdr.ipv4.protocol;
        flow.kind = FLOW_PLAIN;
        service = meta.l4.dst_port;
        if (inbound) {
            flow.local = hdr.ipv4.dst_addr;
            flow.remote = hdr.ipv4.src_addr;
            flow.local_port = meta.l4.dst_port;
            flow.remote_port = meta.l4.src_port;
        } else {
            flow.local = hdr.ipv4.src_addr;
            flow.remote = hdr.ipv4.dst_addr;
            flow.local_port = meta.l4.src_port;
            flow.remote_port = meta.l4.dst_port;
        }
        bool keeps = true; // the packet may begin a flow
        bool known = true; // the packet tells which flow it is of
        if (hdr.ipv4.frag_offset != 0) {
            flow.kind = FLOW_FRAGMENT;
            flow.local_port = hdr.ipv4.identification;
            flow.remote_port = 0;
        } else if (hdr.icmp.isValid()) {
            service = hdr.icmp.icmp_type ++ hdr.icmp.icmp_code;
            flow.local_port = service;
            flow.remote_port = 0;
            if (hdr.icmp.icmp_type == 8 || hdr.icmp.icmp_type == 0) {
                flow.local_port = hdr.icmp.rest[31:16];
                flow.kind = inbound == (hdr.icmp.icmp_type == 8) ? FLOW_ECHO_REMOTE : FLOW_ECHO_LOCAL;
            } else if (meta.guard.quoted_protocol != 0) {
                // It is of the flow whose packet it quotes, which went the other way.
                keeps = false;
                flow.protocol = meta.guard.quoted_protocol;
                if (inbound) {
                    known = flow.local == meta.guard.quoted_src;
                    flow.remote = meta.guard.quoted_dst;
                    flow.local_port = meta.guard.quoted_src_port;
                    flow.remote_port = meta.guard.quoted_dst_port;
                } else {
                    known = flow.local == meta.guard.quoted_dst;
                    flow.remote = meta.guard.quoted_src;
                    flow.local_port = meta.guard.quoted_dst_port;
                    flow.remote_port = meta.guard.quoted_src_port;
                }
            }
        } else if (hdr.ipv4.ihl != 5 && (hdr.ipv4.protocol == PROTO_TCP || hdr.ipv4.protocol == PROTO_UDP)) {
            return; // its ports are not known
        }

        bit<40> value = 0;
        if (known) {
            flows.read(value, flow);
        }
        bit<8> state = value[7:0];
        // SYN without ACK begins another connection where one was closed.
        bool again = state == FLOW_CLOSING && hdr.tcp.isValid() && hdr.tcp.flags & 0x12 == 0x02;
        bit<8>  next = 0;
        bit<32> idle = IDLE_OTHERS;
        if (state != 0 && value[39:8] == policy && !again) {
            pass = true;
            if (keeps && hdr.tcp.isValid() && flow.kind == FLOW_PLAIN) {
                if (hdr.tcp.flags & 0x05 != 0) {
                    if (state != FLOW_CLOSING) {
                        next = FLOW_CLOSING;
                        idle = IDLE_CLOSING;
                    }
                } else if (inbound && state == FLOW_OPENED_OUT || !inbound && state == FLOW_OPENED_IN) {
                    next = FLOW_ESTABLISHED;
                    idle = IDLE_ESTABLISHED;
                }
            }
        } else if (flow.kind != FLOW_FRAGMENT) {
            if (!keeps) {
                flow.remote = inbound ? hdr.ipv4.src_addr : hdr.ipv4.dst_addr;
            }
            rules.apply();
            remotes.apply();
            pass = allowed & member != 0;
            if (pass && keeps) {
                next = inbound ? FLOW_OPENED_IN : FLOW_OPENED_OUT;
                if (hdr.tcp.isValid()) {
                    idle = IDLE_OPENED;
                }
            }
        }
        if (next != 0) {
            flows.write(flow, policy ++ next, idle);
        }
        // The other fragments follow the first one.
        if (pass && hdr.ipv4.flags & 1 == 1 && hdr.ipv4.frag_offset == 0) {
            flow.kind = FLOW_FRAGMENT;
            flow.protocol = hdr.ipv4.protocol;
            flow.local_port = hdr.ipv4.identification;
            flow.remote_port = 0;
            flows.write(flow, policy ++ FLOW_ESTABLISHED, IDLE_FRAGMENTS);
        }
    }
}

#endif
