package server

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/catena-nfv/catena/internal/service"
)

// Every service survives the way through the API unchanged.
func TestConversionRoundTrip(t *testing.T) {
	files, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	texts := map[string]string{"everything": everything, "outside": `
name: outside
networks: [{name: n, subnet: 10.0.0.0/24}]
routers: [{name: r, networks: [n], external: public}]
keypairs: [{name: ops, public_key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f me}]
servers: [{name: v, key: ops, networks: [{network: n, floating_ip: true}]}]
`}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(f)] = string(b)
	}
	for name, text := range texts {
		svc, _, err := service.Parse(name, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		back, problems := toService(fromService(svc))
		if len(problems) > 0 {
			t.Fatalf("%s: %v", name, problems)
		}
		back.Default()
		if !reflect.DeepEqual(svc, back) {
			t.Errorf("%s:\n%+v\n%+v", name, svc, back)
		}
	}
}

const everything = `
name: all
project: p
networks:
  - {name: n, subnet: 10.0.0.0/24, gateway: 10.0.0.254, dhcp: false, dns: [1.1.1.1], mtu: 1400}
routers: [{name: r, networks: [n]}]
security_groups:
  - name: g
    rules:
      - {direction: ingress, protocol: tcp, ports: 80-88, remote_group: g}
      - {direction: ingress, protocol: icmp, icmp_type: 0}
      - {direction: egress, protocol: icmp, icmp_type: 3, icmp_code: 0, remote_ip_prefix: 10.0.0.0/8}
  - {name: h}
servers: [{name: s, image: i, flavor: f, networks: [{network: n, ip: 10.0.0.9, security_groups: [h], allowed_addresses: [10.0.0.10, 10.8.0.0/16]}], port: 81, command: [a, b], security_groups: [g]}]
functions:
  - {name: lb, kind: loadbalancer, networks: [n], security_groups: [g, h], config: {port: 1, protocol: http, algorithm: source, members: [s], member_port: 2}}
  - name: fw
    kind: firewall
    networks: [n]
    config:
      policy: accept
      rules: [{action: drop, protocol: udp, source: 10.0.0.0/8, destination: 1.2.3.4, ports: 5-6}]
      publish: [{port: 1, protocol: udp, to: s, to_port: 2}]
  - {name: dns, kind: dns, networks: [n], config: {zone: z.y, upstream: [9.9.9.9], records: [{name: a, ip: 1.2.3.4}, {name: b, target: s}]}}
chains:
  - name: c
    request: A before B
    path: 2
    match:
      - {from: n, to: n, protocol: tcp, source: 10.0.0.0/8, destination: 10.0.0.0/9, source_ports: 1-2, ports: 3, priority: 4, path: 5}
      - {protocol: 50}
    rules: [{nf: A, table: t, match: {k: v}, action: x, params: {p: "@s"}, priority: 3}]
rules: [{nf: B, action: y}]
`
