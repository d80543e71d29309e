// vrouter: the backbone of a node. It knows to which network a port belongs,
// answers ARP, forwards within a network and routes between the networks of a
// router; in between it classifies packets into chains, whose NFs the composer
// puts at the hook. What the node answers itself (DHCP, DNS, metadata) goes to the
// CPU port.
//
// With GUARD defined it is the backbone vrouter-guard, which also checks what secured
// ports send and receive.
#include <core.p4>
#include <v1model.p4>
#include "headers.p4"
#include "sfc.p4"

@controller_header("packet_out")
header packet_out_t {
    bit<9> egress_port;
    bit<7> pad;
}

// Where virtual machines ask for their metadata: 169.254.169.254.
const bit<32> METADATA = 0xa9fea9fe;

// The first 32 bits of the destination of packets to the node.
const bit<32> NODE_MAC = 0x02ca7e00;

struct vrouter_metadata_t {
    bit<16> network;
    bit<16> router;
    bit<1>  routed;
}

#ifdef GUARD
#include "guard_types.p4"
#endif

struct metadata {
    @shared l4_t l4;
    sfc_t        sfc;
    vrouter_metadata_t vrouter;
#ifdef GUARD
    guard_t guard;
#endif
}

struct headers {
    packet_out_t packet_out;
    ethernet_t   ethernet;
    arp_t        arp;
    ipv4_t       ipv4;
    icmp_t       icmp;
    tcp_t        tcp;
    udp_t        udp;
}

#ifdef GUARD
#include "guard.p4"
#endif

parser VrouterParser(packet_in packet, out headers hdr, inout metadata meta,
                     inout standard_metadata_t standard_metadata) {
    state start {
        transition select(standard_metadata.ingress_port) {
            PORT_CPU: parse_packet_out;
            default: parse_ethernet;
        }
    }

    state parse_packet_out {
        packet.extract(hdr.packet_out);
        transition parse_ethernet;
    }

    state parse_ethernet {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: parse_ipv4;
            ETHERTYPE_ARP: parse_arp;
            default: accept;
        }
    }

    state parse_arp {
        packet.extract(hdr.arp);
        transition accept;
    }

    // Ports stand only behind a header without options, in the first fragment.
    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.ihl, hdr.ipv4.frag_offset, hdr.ipv4.protocol) {
            (5, 0, PROTO_TCP): parse_tcp;
            (5, 0, PROTO_UDP): parse_udp;
            (5, 0, PROTO_ICMP): parse_icmp;
            default: accept;
        }
    }

#ifdef GUARD
    // Errors quote the packet that they are about: only its beginning is looked at, it
    // stays payload.
    state parse_icmp {
        packet.extract(hdr.icmp);
        transition select(hdr.icmp.icmp_type) {
            3: parse_quoted;
            11: parse_quoted;
            12: parse_quoted;
            default: accept;
        }
    }

    state parse_quoted {
        quoted_t quoted = packet.lookahead<quoted_t>();
        transition select(quoted.ihl) {
            5: keep_quoted;
            default: accept;
        }
    }

    state keep_quoted {
        quoted_t quoted = packet.lookahead<quoted_t>();
        meta.guard.quoted_protocol = quoted.protocol;
        meta.guard.quoted_src = quoted.src_addr;
        meta.guard.quoted_dst = quoted.dst_addr;
        meta.guard.quoted_src_port = quoted.src_port;
        meta.guard.quoted_dst_port = quoted.dst_port;
        transition accept;
    }
#else
    state parse_icmp {
        packet.extract(hdr.icmp);
        transition accept;
    }
#endif

    state parse_tcp {
        packet.extract(hdr.tcp);
        meta.l4.src_port = hdr.tcp.src_port;
        meta.l4.dst_port = hdr.tcp.dst_port;
        meta.l4.length = hdr.ipv4.total_len - 20;
        transition accept;
    }

    state parse_udp {
        packet.extract(hdr.udp);
        meta.l4.src_port = hdr.udp.src_port;
        meta.l4.dst_port = hdr.udp.dst_port;
        meta.l4.length = hdr.ipv4.total_len - 20;
        transition accept;
    }
}

control VrouterVerifyChecksum(inout headers hdr, inout metadata meta) {
    apply { }
}

control VrouterIngress(inout headers hdr, inout metadata meta,
                       inout standard_metadata_t standard_metadata) {
    action drop() {
        mark_to_drop(standard_metadata);
    }

    action set_network(bit<16> network) {
        meta.vrouter.network = network;
    }

#ifdef GUARD
    // The port is secured: it sends as mac and address, and what its policy allows.
    action set_secured(bit<16> network, bit<32> policy, bit<48> mac, bit<32> address) {
        meta.vrouter.network = network;
        meta.guard.policy = policy;
        meta.guard.mac = mac;
        meta.guard.address = address;
    }

    // What else a secured port may send as.
    table pairs {
        key = {
            standard_metadata.ingress_port: exact @name("port");
            hdr.ethernet.src_addr:          exact @name("mac");
            meta.guard.sender:              lpm   @name("address");
        }
        actions = { NoAction; drop; }
        default_action = drop();
        size = 8192;
    }

    Guard() guard;
#endif

    // Which network a port belongs to. A packet from any other port is dropped.
    table ports {
        key = { standard_metadata.ingress_port: exact @name("port"); }
#ifdef GUARD
        actions = { set_network; set_secured; drop; }
#else
        actions = { set_network; drop; }
#endif
        default_action = drop();
        size = 512;
    }

    // Turns a request into the reply that says: address is at mac.
    action arp_reply(bit<48> mac) {
        hdr.ethernet.dst_addr = hdr.arp.sender_mac;
        hdr.ethernet.src_addr = mac;
        bit<32> address = hdr.arp.target_ip;
        hdr.arp.opcode = 2;
        hdr.arp.target_mac = hdr.arp.sender_mac;
        hdr.arp.target_ip = hdr.arp.sender_ip;
        hdr.arp.sender_mac = mac;
        hdr.arp.sender_ip = address;
        standard_metadata.egress_spec = standard_metadata.ingress_port;
    }

    // The addresses of a network, its gateway among them.
    table arp {
        key = {
            meta.vrouter.network: exact @name("network");
            hdr.arp.target_ip:    exact @name("address");
        }
        actions = { arp_reply; NoAction; }
        default_action = NoAction();
        size = 65536;
    }

    // The packet is for the node. Its destination MAC address, which nothing needs any
    // more, says which port it comes from.
    action to_node() {
        hdr.ethernet.dst_addr = NODE_MAC ++ (bit<16>)standard_metadata.ingress_port;
        standard_metadata.egress_spec = PORT_CPU;
    }

    // What the node answers, by network.
    table services {
        key = {
            meta.vrouter.network: exact @name("network");
            hdr.ipv4.dst_addr:    exact @name("dst_addr");
            hdr.ipv4.protocol:    exact @name("protocol");
            meta.l4.dst_port:     exact @name("dst_port");
        }
        actions = { to_node; NoAction; }
        default_action = NoAction();
        size = 16384;
    }

    // Packets of each chain, by its number.
    counter(4096, CounterType.packets_and_bytes) chains;

    action set_chain(bit<16> scope, bit<16> chain, bit<16> path, bit<64> nodes) {
        chains.count((bit<32>)chain);
        meta.sfc.scope = scope;
        meta.sfc.chain = chain;
        meta.sfc.path = path;
        meta.sfc.nodes = nodes;
    }

    // Which chain and path a packet takes.
    table classifier {
        key = {
            meta.vrouter.network: ternary @name("network");
            hdr.ipv4.src_addr:    ternary @name("src_addr");
            hdr.ipv4.dst_addr:    ternary @name("dst_addr");
            hdr.ipv4.protocol:    ternary @name("protocol");
            meta.l4.src_port:     ternary @name("src_port");
            meta.l4.dst_port:     ternary @name("dst_port");
        }
        actions = { set_chain; NoAction; }
        default_action = NoAction();
        size = 16384;
    }

    action to_router(bit<16> router) {
        meta.vrouter.router = router;
        meta.vrouter.routed = 1;
    }

    // The routers' MAC addresses: what is sent to them is routed.
    table gateways {
        key = {
            meta.vrouter.network:  exact @name("network");
            hdr.ethernet.dst_addr: exact @name("mac");
        }
        actions = { to_router; NoAction; }
        default_action = NoAction();
        size = 4096;
    }

    action route(bit<9> port, bit<48> src_mac, bit<48> dst_mac) {
        standard_metadata.egress_spec = port;
        hdr.ethernet.src_addr = src_mac;
        hdr.ethernet.dst_addr = dst_mac;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }

    // The address is the router's own: an echo request is answered.
    action to_gateway() {
        if (hdr.icmp.isValid() && hdr.icmp.icmp_type == 8) {
            bit<48> mac = hdr.ethernet.dst_addr;
            hdr.ethernet.dst_addr = hdr.ethernet.src_addr;
            hdr.ethernet.src_addr = mac;
            bit<32> address = hdr.ipv4.dst_addr;
            hdr.ipv4.dst_addr = hdr.ipv4.src_addr;
            hdr.ipv4.src_addr = address;
            hdr.icmp.icmp_type = 0;
            standard_metadata.egress_spec = standard_metadata.ingress_port;
        } else {
            mark_to_drop(standard_metadata);
        }
    }

    // The hosts behind a router, each a /32, and the prefixes that it does not
    // know hosts of.
    table routes {
        key = {
            meta.vrouter.router: exact @name("router");
            hdr.ipv4.dst_addr:   lpm   @name("dst_addr");
        }
        actions = { route; to_gateway; drop; }
        default_action = drop();
        size = 65536;
    }

    action forward(bit<9> port) {
        standard_metadata.egress_spec = port;
    }

    // What is not known goes to all ports of the network.
    action flood() {
        standard_metadata.mcast_grp = meta.vrouter.network;
    }

    table hosts {
        key = {
            meta.vrouter.network:  exact @name("network");
            hdr.ethernet.dst_addr: exact @name("mac");
        }
        actions = { forward; flood; drop; }
        default_action = flood();
        size = 65536;
    }

    apply {
        if (hdr.packet_out.isValid()) {
            standard_metadata.egress_spec = hdr.packet_out.egress_port;
            hdr.packet_out.setInvalid();
            return;
        }
        ports.apply();
        if (standard_metadata.egress_spec == PORT_DROP) {
            return;
        }
#ifdef GUARD
        if (meta.guard.policy != 0) {
            // A client that has no address yet: it asks for one, or whether one is free.
            bool unnamed = false;
            bool ruled = false; // the rules say whether it passes
            if (hdr.arp.isValid()) {
                meta.guard.sender = hdr.arp.sender_ip;
                unnamed = hdr.arp.sender_ip == 0;
                if (hdr.arp.sender_mac != hdr.ethernet.src_addr) {
                    drop();
                    return;
                }
            } else if (hdr.ipv4.isValid()) {
                meta.guard.sender = hdr.ipv4.src_addr;
                bool client = hdr.udp.isValid() && hdr.udp.src_port == 68 && hdr.udp.dst_port == 67;
                unnamed = client && hdr.ipv4.src_addr == 0;
                ruled = !client;
                if (hdr.udp.isValid() && hdr.udp.src_port == 67 && hdr.udp.dst_port == 68) {
                    drop(); // a DHCP server
                    return;
                }
            } else {
                drop();
                return;
            }
            if (hdr.ethernet.src_addr != meta.guard.mac || meta.guard.sender != meta.guard.address && !unnamed) {
                if (pairs.apply().miss) {
                    return;
                }
            }
            if (ruled) {
                bool pass;
                guard.apply(hdr, meta, standard_metadata.ingress_port, meta.guard.policy, false, pass);
                if (!pass) {
                    drop();
                    return;
                }
            }
        }
#endif
        if (hdr.arp.isValid()) {
            if (hdr.arp.opcode == 1 && arp.apply().hit) {
                return;
            }
        } else {
            // A packet with IP options is neither chained nor routed.
            if (hdr.ipv4.isValid() && hdr.ipv4.ihl == 5) {
                if (hdr.ipv4.dst_addr == METADATA || meta.l4.dst_port == 53 || meta.l4.dst_port == 67) {
                    if (services.apply().hit) {
                        return;
                    }
                }
                classifier.apply();
                @hook { }
                if (standard_metadata.egress_spec != PORT_NONE || standard_metadata.mcast_grp != 0) {
                    return;
                }
                gateways.apply();
                if (meta.vrouter.routed == 1) {
                    if (hdr.ipv4.ttl <= 1) {
                        drop();
                    } else {
                        routes.apply();
                    }
                    return;
                }
            }
        }
        hosts.apply();
    }
}

control VrouterEgress(inout headers hdr, inout metadata meta,
                      inout standard_metadata_t standard_metadata) {
#ifdef GUARD
    bit<32> policy = 0;

    action protect(bit<32> by) {
        policy = by;
    }

    table secured {
        key = { standard_metadata.egress_port: exact @name("port"); }
        actions = { protect; NoAction; }
        default_action = NoAction();
        size = 512;
    }

    Guard() guard;
#endif

    apply {
        // A flooded packet does not return to where it came from.
        if (standard_metadata.mcast_grp != 0 &&
            standard_metadata.egress_port == standard_metadata.ingress_port) {
            mark_to_drop(standard_metadata);
        }
#ifdef GUARD
        // What the node sends is its own: DHCP, DNS, metadata.
        else if (standard_metadata.ingress_port != PORT_CPU) {
            secured.apply();
            if (policy != 0 && !hdr.arp.isValid()) {
                bool pass = false;
                if (hdr.udp.isValid() && hdr.udp.src_port == 67 && hdr.udp.dst_port == 68) {
                    pass = true;
                } else if (hdr.ipv4.isValid()) {
                    guard.apply(hdr, meta, standard_metadata.egress_port, policy, true, pass);
                }
                if (!pass) {
                    mark_to_drop(standard_metadata);
                }
            }
        }
#endif
    }
}

@incremental
control VrouterComputeChecksum(inout headers hdr, inout metadata meta) {
    apply {
        update_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5,
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.diffserv, hdr.ipv4.total_len,
              hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.frag_offset,
              hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.src_addr, hdr.ipv4.dst_addr },
            hdr.ipv4.checksum, HashAlgorithm.csum16);
        update_checksum_with_payload(hdr.icmp.isValid(),
            { hdr.icmp.icmp_type, hdr.icmp.icmp_code, hdr.icmp.rest },
            hdr.icmp.checksum, HashAlgorithm.csum16);
    }
}

control VrouterDeparser(packet_out packet, in headers hdr) {
    apply {
        packet.emit(hdr.packet_out);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.arp);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.icmp);
        packet.emit(hdr.tcp);
        packet.emit(hdr.udp);
    }
}

V1Switch(VrouterParser(), VrouterVerifyChecksum(), VrouterIngress(), VrouterEgress(),
         VrouterComputeChecksum(), VrouterDeparser()) main;
