package interp

import (
	"fmt"
	"math/big"

	"github.com/catena-nfv/catena/internal/p4/ir"
	"github.com/catena-nfv/catena/internal/p4/target"
)

// The values of standard_metadata.instance_type, as the behavioural model has them.
const (
	normal       = 0
	ingressClone = 1
	egressClone  = 2
	recirculated = 4
	replicated   = 5
	resubmitted  = 6
)

// item is a packet, or a copy of one, between two blocks.
type item struct {
	data           []byte // as it comes into the parser; nil at egress
	port           uint32 // where it came from; at egress: where it goes
	length         int    // bytes as it arrived
	hdr, meta, std *cell
	payload        []byte // what the parser left
	truncate       int    // bytes to leave, plus one; 0: all
}

// requests are what a block asks of the traffic manager. The last one of a kind
// counts.
type requests struct {
	clone, resubmit, recirculate        bool
	session                             uint32
	cloneList, resubmitList, recircList string
}

// run is the work on one packet that was injected, and all its copies.
type run struct {
	sw         *Switch
	it         *item // the one at hand
	store      map[*ir.Var]*cell
	in         reader
	out        *writer
	req        requests
	colours    map[*ir.Instance]int // of direct meters, set when the table matched
	parseError string               // name of the error that ends the parser
	arrive     []*item              // what waits for ingress
	leave      []*item              // what waits for egress: it goes first
	sent       []target.Packet
	steps      int
	err        error
}

// forward takes one packet through the whole switch.
func (s *Switch) forward(p target.Packet) ([]target.Packet, error) {
	r := &run{sw: s, store: map[*ir.Var]*cell{}, colours: map[*ir.Instance]int{}}
	r.trace(Event{Kind: EventReceive, Port: p.Port, Data: p.Data})
	it := r.newItem(p.Data, p.Port, normal)
	r.hold(it)
	r.setStd("ingress_port", new(big.Int).SetUint64(uint64(p.Port)))
	r.arrive = []*item{it}
	for passes := 0; len(r.arrive)+len(r.leave) > 0; passes++ {
		if passes == s.opts.MaxPasses {
			return nil, fmt.Errorf("port %d: a packet and its copies made %d passes: %w", p.Port, passes, ErrLimit)
		}
		if len(r.leave) > 0 {
			r.hold(r.leave[0])
			r.leave = r.leave[1:]
			r.egress()
		} else {
			r.hold(r.arrive[0])
			r.arrive = r.arrive[1:]
			r.ingress()
		}
		if r.err != nil {
			return nil, fmt.Errorf("port %d: %w", p.Port, r.err)
		}
	}
	return r.sent, nil
}

// newItem makes a packet that comes into the parser, with metadata that is zero but
// for its length and instance type.
func (r *run) newItem(data []byte, port uint32, instance int64) *item {
	p := r.sw.prog
	it := &item{data: data, port: port, length: len(data),
		hdr: newCell(p.Hdr.Type), meta: newCell(p.Meta.Type), std: newCell(p.Std.Type)}
	it.setStd("packet_length", big.NewInt(int64(len(data))))
	it.setStd("instance_type", big.NewInt(instance))
	return it
}

// hold makes an item the one that the blocks work on.
func (r *run) hold(it *item) {
	p := r.sw.prog
	r.it = it
	r.req = requests{}
	r.store[p.Hdr], r.store[p.Meta], r.store[p.Std] = it.hdr, it.meta, it.std
	clear(r.colours)
}

// setStd sets a field of the standard metadata, if the program has it.
func (r *run) setStd(name string, v *big.Int) { r.it.setStd(name, v) }

func (it *item) setStd(name string, v *big.Int) {
	if c := it.std.named(name); c != nil && c.num != nil {
		c.num = fit(v, c.typ)
	}
}

func (r *run) getStd(name string) uint64 {
	if c := r.it.std.named(name); c != nil && c.num != nil {
		return c.num.Uint64()
	}
	return 0
}

func (r *run) micros() *big.Int { return big.NewInt(r.sw.opts.Now().Microseconds()) }

// ingress parses an item, runs ingress and decides what becomes of it.
func (r *run) ingress() {
	it := r.it
	r.setStd("ingress_global_timestamp", r.micros())
	r.in = reader{data: it.data}
	r.parse()
	it.payload = r.in.rest()
	r.control(r.sw.prog.VerifyChecksum)
	r.control(r.sw.prog.Ingress)
	if r.err != nil {
		return
	}
	req := r.req
	if req.clone {
		r.cloneIngress(it, req)
	}
	switch mgid, spec := r.getStd("mcast_grp"), r.getStd("egress_spec"); {
	case req.resubmit:
		r.trace(Event{Kind: EventResubmit})
		again := r.newItem(it.data, it.port, resubmitted)
		r.keep(req.resubmitList, it, again)
		again.setStd("instance_type", big.NewInt(resubmitted))
		again.setStd("packet_length", big.NewInt(int64(again.length)))
		r.arrive = append([]*item{again}, r.arrive...)
	case mgid != 0:
		r.multicast(it, uint32(mgid))
	case spec == target.DropPort:
		r.trace(Event{Kind: EventDrop, Detail: "at the end of ingress"})
	default:
		r.setStd("instance_type", big.NewInt(normal))
		r.toEgress(it, uint32(spec))
	}
}

// cloneIngress makes the clone of a packet as it arrived: it is parsed again.
func (r *run) cloneIngress(it *item, req requests) {
	session, ok := r.sw.clones[req.session]
	if !ok {
		return
	}
	c := r.newItem(it.data, it.port, ingressClone)
	r.hold(c)
	r.setStd("ingress_port", big.NewInt(int64(it.port)))
	r.in = reader{data: it.data}
	r.parse()
	c.payload = r.in.rest()
	r.afterClone(it, c, session, req.cloneList, ingressClone)
	r.hold(it)
}

// afterClone clears the metadata of a clone but for the list to keep, and sends it
// where the session says.
func (r *run) afterClone(from, c *item, session target.CloneSession, list string, instance int64) {
	c.meta.reset()
	c.std.reset()
	r.keep(list, from, c)
	c.setStd("instance_type", big.NewInt(instance))
	if session.Truncate > 0 {
		c.truncate = session.Truncate + 1
	}
	for _, rep := range session.Replicas {
		r.trace(Event{Kind: EventClone, Port: rep.Port})
		r.toEgress(c.copyFor(rep), rep.Port)
	}
}

// copyFor returns a copy with the replica's egress_rid.
func (it *item) copyFor(rep target.Replica) *item {
	c := *it
	c.hdr, c.meta, c.std = it.hdr.clone(), it.meta.clone(), it.std.clone()
	c.setStd("egress_rid", big.NewInt(int64(rep.Instance)))
	return &c
}

func (r *run) multicast(it *item, group uint32) {
	it.setStd("instance_type", big.NewInt(replicated))
	replicas := r.sw.groups[group]
	if len(replicas) == 0 {
		r.trace(Event{Kind: EventDrop, Detail: fmt.Sprintf("multicast group %d has no members", group)})
	}
	for _, rep := range replicas {
		r.trace(Event{Kind: EventReplica, Port: rep.Port})
		r.toEgress(it.copyFor(rep), rep.Port)
	}
}

func (r *run) toEgress(it *item, port uint32) {
	it.port = port
	it.setStd("enq_timestamp", r.micros())
	r.leave = append(r.leave, it)
}

// egress runs egress, checksums and deparser on an item and sends it.
func (r *run) egress() {
	it := r.it
	r.setStd("egress_global_timestamp", r.micros())
	r.setStd("deq_timedelta", zero)
	r.setStd("egress_port", new(big.Int).SetUint64(uint64(it.port)))
	r.setStd("egress_spec", zero)
	r.setStd("packet_length", big.NewInt(int64(it.length)))
	r.control(r.sw.prog.Egress)
	if r.err != nil {
		return
	}
	req := r.req
	if req.clone {
		r.cloneEgress(it, req)
	}
	if r.getStd("egress_spec") == target.DropPort {
		r.trace(Event{Kind: EventDrop, Detail: "at the end of egress"})
		return
	}
	data := r.deparse()
	if r.err != nil {
		return
	}
	if req.recirculate {
		r.trace(Event{Kind: EventRecirc, Data: data})
		again := r.newItem(data, 0, recirculated)
		r.keep(req.recircList, it, again)
		again.setStd("instance_type", big.NewInt(recirculated))
		again.setStd("packet_length", big.NewInt(int64(len(data))))
		r.arrive = append(r.arrive, again)
		return
	}
	r.trace(Event{Kind: EventTransmit, Port: it.port, Data: data})
	r.sent = append(r.sent, target.Packet{Port: it.port, Data: data})
}

func (r *run) cloneEgress(it *item, req requests) {
	session, ok := r.sw.clones[req.session]
	if !ok {
		return
	}
	c := it.copyFor(target.Replica{})
	c.truncate = 0
	r.afterClone(it, c, session, req.cloneList, egressClone)
}

// deparse updates checksums and puts the packet together.
func (r *run) deparse() []byte {
	r.control(r.sw.prog.ComputeChecksum)
	r.out = &writer{}
	r.control(r.sw.prog.Deparser)
	data := append(r.out.data, r.it.payload...)
	if n := r.it.truncate; n > 0 && n-1 < len(data) {
		data = data[:n-1]
	}
	return data
}
