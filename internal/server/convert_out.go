package server

import (
	"net/netip"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	catenav1 "github.com/catena-nfv/catena/api/catena/v1"
	"github.com/catena-nfv/catena/internal/orch"
	"github.com/catena-nfv/catena/internal/service"
)

// timestamp leaves the zero time out.
func timestamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// duration leaves zero out.
func duration(d time.Duration) *durationpb.Duration {
	if d == 0 {
		return nil
	}
	return durationpb.New(d)
}

func fromStatus(s service.Status) catenav1.Object_Status {
	switch s {
	case service.StatusPending:
		return catenav1.Object_PENDING
	case service.StatusBuilding:
		return catenav1.Object_BUILDING
	case service.StatusActive:
		return catenav1.Object_ACTIVE
	case service.StatusError, service.StatusChanged:
		return catenav1.Object_ERROR
	case service.StatusDeleting:
		return catenav1.Object_DELETING
	case service.StatusDeleted:
		return catenav1.Object_DELETED
	}
	return catenav1.Object_UNKNOWN
}

func fromEvent(e orch.Event) *catenav1.Event {
	return &catenav1.Event{
		Time: timestamp(e.Time), Project: e.Owner.Project, Service: e.Owner.Service, Kind: string(e.Kind), Name: e.Name,
		Status: fromStatus(e.Status), Stage: e.Stage, Message: e.Message, Elapsed: duration(e.Elapsed),
	}
}

func fromState(st *orch.ServiceState) *catenav1.ServiceState {
	out := &catenav1.ServiceState{
		Service: fromService(st.Service), Status: fromStatus(st.Status), Message: st.Message,
		Revision: st.Revision, Took: duration(st.Took), Updated: timestamp(st.Updated),
	}
	addresses := map[string][]string{} // by device or port
	for _, p := range st.Ports {
		addresses[p.Device] = append(addresses[p.Device], p.IP.String())
		addresses[p.Name] = []string{p.IP.String()}
	}
	for _, o := range st.Objects {
		obj := &catenav1.Object{Kind: string(o.Kind), Name: o.Name, Status: fromStatus(o.Status), Message: o.Message}
		switch o.Kind {
		case service.KindServer, service.KindFunction, service.KindPort:
			obj.Addresses = addresses[o.Name]
		case service.KindFloatingIP:
			if o.Address.IsValid() {
				obj.Addresses = []string{o.Address.String()}
			}
		}
		out.Objects = append(out.Objects, obj)
	}
	return out
}

// text leaves the zero value of an address or prefix out.
func text(v interface {
	IsValid() bool
	String() string
}) string {
	if !v.IsValid() {
		return ""
	}
	return v.String()
}

func texts(list []netip.Addr) []string {
	var out []string
	for _, a := range list {
		out = append(out, a.String())
	}
	return out
}

func fromService(s *service.Service) *catenav1.Service {
	if s == nil {
		return nil
	}
	m := &catenav1.Service{Name: s.Name, Project: s.Project, Rules: fromRules(s.Rules)}
	for _, n := range s.Networks {
		m.Networks = append(m.Networks, &catenav1.Network{
			Name: n.Name, Subnet: text(n.Subnet), Gateway: text(n.Gateway), Dhcp: &n.DHCP, Dns: texts(n.DNS), Mtu: int32(n.MTU),
		})
	}
	for _, v := range s.Routers {
		m.Routers = append(m.Routers, &catenav1.Router{Name: v.Name, Networks: v.Networks, External: v.External})
	}
	for _, v := range s.Servers {
		m.Servers = append(m.Servers, &catenav1.Server{
			Name: v.Name, Image: v.Image, Flavor: v.Flavor, Count: int32(v.Count), Networks: fromAttachments(v.Networks),
			Port: int32(v.Port), Command: v.Command, SecurityGroups: v.SecurityGroups, Key: v.Key,
		})
	}
	for _, f := range s.Functions {
		m.Functions = append(m.Functions, fromFunction(f))
	}
	for _, g := range s.SecurityGroups {
		m.SecurityGroups = append(m.SecurityGroups, fromSecurityGroup(g))
	}
	for _, k := range s.KeyPairs {
		m.Keypairs = append(m.Keypairs, &catenav1.KeyPair{Name: k.Name, PublicKey: k.PublicKey})
	}
	for _, c := range s.Chains {
		mc := &catenav1.Chain{Name: c.Name, Request: c.Request, Rules: fromRules(c.Rules), Path: int32(c.Path)}
		for _, v := range c.Match {
			mc.Match = append(mc.Match, fromClassifier(v))
		}
		m.Chains = append(m.Chains, mc)
	}
	return m
}

func fromSecurityGroup(g service.SecurityGroup) *catenav1.SecurityGroup {
	m := &catenav1.SecurityGroup{Name: g.Name}
	for _, r := range g.Rules {
		x := &catenav1.SecurityGroupRule{
			Direction: string(r.Direction), Protocol: r.Protocol, Ports: r.Ports.String(),
			RemoteIpPrefix: text(r.RemotePrefix), RemoteGroup: r.RemoteGroup,
		}
		if r.ICMP != nil {
			kind, code := int32(r.ICMP.Type), int32(r.ICMP.Code)
			x.IcmpType = &kind
			if code >= 0 {
				x.IcmpCode = &code
			}
		}
		m.Rules = append(m.Rules, x)
	}
	return m
}

func fromAttachments(list []service.Attachment) []*catenav1.Attachment {
	var out []*catenav1.Attachment
	for _, a := range list {
		m := &catenav1.Attachment{Network: a.Network, Ip: text(a.IP), SecurityGroups: a.SecurityGroups, FloatingIp: a.FloatingIP}
		for _, x := range a.AllowedAddresses {
			m.AllowedAddresses = append(m.AllowedAddresses, x.String())
		}
		out = append(out, m)
	}
	return out
}

func fromFunction(f service.Function) *catenav1.Function {
	m := &catenav1.Function{Name: f.Name, Networks: fromAttachments(f.Networks), SecurityGroups: f.SecurityGroups}
	switch {
	case f.LoadBalancer != nil:
		c := f.LoadBalancer
		m.Config = &catenav1.Function_LoadBalancer{LoadBalancer: &catenav1.LoadBalancer{
			Port: int32(c.Port), Protocol: c.Protocol, Algorithm: c.Algorithm, Members: c.Members, MemberPort: int32(c.MemberPort),
		}}
	case f.Firewall != nil:
		c := &catenav1.Firewall{Policy: f.Firewall.Policy}
		for _, r := range f.Firewall.Rules {
			c.Rules = append(c.Rules, &catenav1.FirewallRule{
				Action: r.Action, Protocol: r.Protocol, Source: text(r.Source), Destination: text(r.Destination), Ports: r.Ports.String(),
			})
		}
		for _, p := range f.Firewall.Publish {
			c.Publish = append(c.Publish, &catenav1.Publish{Port: int32(p.Port), Protocol: p.Protocol, To: p.To, ToPort: int32(p.ToPort)})
		}
		m.Config = &catenav1.Function_Firewall{Firewall: c}
	case f.DNS != nil:
		c := &catenav1.DNS{Zone: f.DNS.Zone, Upstream: texts(f.DNS.Upstream)}
		for _, r := range f.DNS.Records {
			c.Records = append(c.Records, &catenav1.DNSRecord{Name: r.Name, Ip: text(r.IP), Target: r.Target})
		}
		m.Config = &catenav1.Function_Dns{Dns: c}
	}
	return m
}

func fromClassifier(v service.Classifier) *catenav1.Classifier {
	return &catenav1.Classifier{
		From: v.From, To: v.To, Protocol: v.Protocol, Source: text(v.Source), Destination: text(v.Destination),
		SourcePorts: v.SourcePorts.String(), Ports: v.Ports.String(), Priority: int32(v.Priority), Path: int32(v.Path),
	}
}

func fromRules(list []service.Rule) []*catenav1.Rule {
	var out []*catenav1.Rule
	for _, r := range list {
		out = append(out, fromRule(r))
	}
	return out
}

func fromRule(r service.Rule) *catenav1.Rule {
	return &catenav1.Rule{Nf: r.NF, Table: r.Table, Match: r.Match, Action: r.Action, Params: r.Params, Priority: int32(r.Priority)}
}

func fromChain(c *orch.ChainInfo) *catenav1.ChainInfo {
	return &catenav1.ChainInfo{
		Number: c.Number, Project: c.Owner.Project, Service: c.Owner.Service, Name: c.Chain.Name, Request: c.Chain.Request,
		Paths: int32(len(c.Paths)), Path: int32(c.Chain.Path), Packets: c.Packets, Bytes: c.Bytes,
	}
}

func fromPaths(c *orch.ChainInfo) []*catenav1.Path {
	var out []*catenav1.Path
	for i, p := range c.Paths {
		m := &catenav1.Path{Id: int32(i + 1), Nfs: p.NFs, Selected: c.Chain.Path == i+1}
		for _, n := range p.Nodes {
			m.Nodes = append(m.Nodes, int32(n))
		}
		out = append(out, m)
	}
	return out
}

// ruleInfos lists a chain's rules, its own before those of its service.
func ruleInfos(c *orch.ChainInfo) []*catenav1.RuleInfo {
	var out []*catenav1.RuleInfo
	add := func(list []service.Rule, shared bool) {
		for _, r := range list {
			out = append(out, &catenav1.RuleInfo{
				Id: orch.RuleID(r), Chain: c.Number, ChainName: c.Owner.String() + "/" + c.Chain.Name, Rule: fromRule(r), Shared: shared,
			})
		}
	}
	add(c.Chain.Rules, false)
	add(c.Shared, true)
	return out
}

// sameNF compares NFs without the serial number of a further invocation.
func sameNF(a, b string) bool {
	a, _, _ = strings.Cut(a, "#")
	b, _, _ = strings.Cut(b, "#")
	return a == b
}

// report converts what a change of a chain returned.
func report(r orch.ChangeReport, err error) (*catenav1.ChangeReport, error) {
	if err != nil {
		return nil, err
	}
	m := &catenav1.ChangeReport{
		Recompiled: r.Switch.Recompiled, EntriesAdded: int32(r.Switch.EntriesAdded), EntriesChanged: int32(r.Switch.EntriesChanged),
		EntriesDeleted: int32(r.Switch.EntriesDeleted), Took: duration(r.Took),
	}
	for _, s := range r.Switch.Stages {
		m.Stages = append(m.Stages, &catenav1.Stage{Name: s.Name, Duration: duration(s.Duration), Message: s.Message})
	}
	return m, nil
}

func fromSwitch(st service.SwitchState, chains []orch.ChainInfo) *catenav1.SwitchState {
	m := &catenav1.SwitchState{Pipeline: &catenav1.Pipeline{
		Name: st.Pipeline.Name, Cookie: st.Pipeline.Cookie, Loaded: timestamp(st.Pipeline.LoadedAt),
		Tables: int32(st.Pipeline.Tables), Entries: int32(st.Pipeline.Entries), Target: st.Pipeline.Target,
	}}
	for _, p := range st.Ports {
		m.Ports = append(m.Ports, &catenav1.SwitchPort{
			Number: p.Number, Name: p.Name, Link: p.Link, Up: p.Up, RxPackets: p.RxPackets, RxBytes: p.RxBytes, RxDropped: p.RxDropped,
			TxPackets: p.TxPackets, TxBytes: p.TxBytes, TxDropped: p.TxDropped,
		})
	}
	for _, n := range st.NFs {
		m.Nfs = append(m.Nfs, &catenav1.NFCounters{Node: int32(n.Node), Nf: n.NF, Packets: n.Packets, Bytes: n.Bytes, Dropped: n.Dropped})
	}
	for i := range chains {
		m.Chains = append(m.Chains, fromChain(&chains[i]))
	}
	return m
}

func fromNF(nf service.NFInfo) *catenav1.NF {
	m := &catenav1.NF{Name: nf.Name, Summary: nf.Summary}
	for _, t := range nf.Tables {
		mt := &catenav1.NFTable{Name: t.Name, Size: int32(t.Size)}
		for _, k := range t.Keys {
			mt.Keys = append(mt.Keys, &catenav1.NFKey{Name: k.Name, Match: k.Match, Bits: int32(k.Bits)})
		}
		for _, a := range t.Actions {
			ma := &catenav1.NFAction{Name: a.Name}
			for _, p := range a.Params {
				ma.Params = append(ma.Params, &catenav1.NFParam{Name: p.Name, Bits: int32(p.Bits)})
			}
			mt.Actions = append(mt.Actions, ma)
		}
		m.Tables = append(m.Tables, mt)
	}
	return m
}
