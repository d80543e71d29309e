package agent

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/catena-nfv/catena/internal/orch"
	"github.com/catena-nfv/catena/internal/service"
)

// Store is what agent and controller share.
type Store interface {
	Get(ctx context.Context, key string) (kv orch.KV, ok bool, err error)
	List(ctx context.Context, prefix string) ([]orch.KV, error)
	Put(ctx context.Context, key string, value []byte) error
	Delete(ctx context.Context, key string) error
	Watch(ctx context.Context, prefix string) (<-chan orch.KV, error)
}

// wanted is what the controller writes for one port: below
// agents/NODE/wanted/PROJECT/SERVICE/PORT.
type wanted struct {
	// Request is new with every call, so that the answer can be told from that
	// to an earlier one.
	Request string
	Owner   service.Owner
	Number  uint32
	Port    service.Port
}

// answer is what the agent writes below agents/NODE/answer/…: the outcome of the
// request. It is deleted when the port is detached.
type answer struct {
	Request string
	Error   string `json:",omitempty"`
}

func wantedPrefix(node string) string { return "agents/" + node + "/wanted/" }
func answerPrefix(node string) string { return "agents/" + node + "/answer/" }

// Remote is the controller's side of agents on other nodes; it satisfies
// orch.Node. Every port goes to the agent of its own node.
type Remote struct {
	Store Store
	// Timeout is how long an agent may take to answer; 10 s by default. A node
	// whose agent does not run gives an error that says so.
	Timeout time.Duration
}

// Attach asks the agent of port.Node and waits for its answer.
func (r *Remote) Attach(ctx context.Context, o service.Owner, number uint32, port service.Port) error {
	err := r.ask(ctx, port.Node, key(o, port.Name), wanted{Request: rand.Text(), Owner: o, Number: number, Port: port})
	if err != nil {
		return fmt.Errorf("port %q on node %q: %w", port.Name, port.Node, err)
	}
	return nil
}

func (r *Remote) ask(ctx context.Context, node, port string, w wanted) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout())
	defer cancel()
	// Watching before writing: the answer cannot be missed.
	answers, err := r.Store.Watch(ctx, answerPrefix(node))
	if err != nil {
		return err
	}
	data, err := json.Marshal(w)
	if err != nil {
		return err
	}
	if err := r.Store.Put(ctx, wantedPrefix(node)+port, data); err != nil {
		return err
	}
	for kv := range answers {
		if kv.Key != answerPrefix(node)+port || kv.Value == nil {
			continue
		}
		var got answer
		if err := json.Unmarshal(kv.Value, &got); err != nil {
			return fmt.Errorf("its agent's answer: %w", err)
		}
		if got.Request != w.Request {
			continue
		}
		if got.Error != "" {
			return errors.New(got.Error)
		}
		return nil
	}
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("its agent does not answer: %w", err)
	}
	return errors.New("the store ended the watch")
}

// Detach asks every node that has the port, and waits.
func (r *Remote) Detach(ctx context.Context, o service.Owner, port string) error {
	if err := r.detach(ctx, key(o, port)); err != nil {
		return fmt.Errorf("port %q: %w", port, err)
	}
	return nil
}

func (r *Remote) detach(ctx context.Context, port string) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout())
	defer cancel()
	all, err := r.Store.List(ctx, "agents/")
	if err != nil {
		return err
	}
	nodes := map[string]bool{}
	for _, kv := range all {
		rest := strings.TrimPrefix(kv.Key, "agents/")
		node, name, _ := strings.Cut(rest, "/")
		if name == "wanted/"+port || name == "answer/"+port {
			nodes[node] = true
		}
	}
	for node := range nodes {
		if err := r.detachFrom(ctx, node, port); err != nil {
			return fmt.Errorf("node %q: %w", node, err)
		}
	}
	return nil
}

func (r *Remote) detachFrom(ctx context.Context, node, port string) error {
	answers, err := r.Store.Watch(ctx, answerPrefix(node))
	if err != nil {
		return err
	}
	if err := r.Store.Delete(ctx, wantedPrefix(node)+port); err != nil {
		return err
	}
	_, there, err := r.Store.Get(ctx, answerPrefix(node)+port)
	if err != nil || !there {
		return err
	}
	for kv := range answers {
		if kv.Key == answerPrefix(node)+port && kv.Value == nil {
			return nil
		}
	}
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("its agent does not answer: %w", err)
	}
	return errors.New("the store ended the watch")
}

func (r *Remote) timeout() time.Duration {
	if r.Timeout == 0 {
		return 10 * time.Second
	}
	return r.Timeout
}

// Follow carries out what the controller wants of this node, until the context
// ends. Ports that the controller gave up while the agent was away are detached.
func (a *Agent) Follow(ctx context.Context, store Store, node string) error {
	// Watching before listing: nothing falls between.
	changes, err := store.Watch(ctx, wantedPrefix(node))
	if err != nil {
		return fmt.Errorf("agent: node %q: %w", node, err)
	}
	all, err := store.List(ctx, wantedPrefix(node))
	if err != nil {
		return fmt.Errorf("agent: node %q: %w", node, err)
	}
	f := &follower{agent: a, store: store, node: node, queues: map[string]chan []byte{}}
	defer f.wait()
	listed := map[string]bool{}
	for _, kv := range all {
		port := strings.TrimPrefix(kv.Key, wantedPrefix(node))
		listed[port] = true
		f.push(ctx, port, kv.Value)
	}
	// What is attached or was answered, but is wanted no more.
	answers, err := store.List(ctx, answerPrefix(node))
	if err != nil {
		return fmt.Errorf("agent: node %q: %w", node, err)
	}
	past := map[string]bool{}
	for _, kv := range answers {
		past[strings.TrimPrefix(kv.Key, answerPrefix(node))] = true
	}
	for _, s := range a.Ports() {
		past[s.key()] = true
	}
	for port := range past {
		if !listed[port] {
			f.push(ctx, port, nil)
		}
	}
	for kv := range changes {
		f.push(ctx, strings.TrimPrefix(kv.Key, wantedPrefix(node)), kv.Value)
	}
	if ctx.Err() == nil {
		return fmt.Errorf("agent: node %q: the store ended the watch", node)
	}
	return nil
}

// follower does the work of each port in order and that of different ports at
// the same time. Of what is waiting for a port only the newest counts.
type follower struct {
	agent  *Agent
	store  Store
	node   string
	mu     sync.Mutex
	queues map[string]chan []byte
	done   sync.WaitGroup
}

// push replaces what waits for the port; value nil means that it is not wanted.
func (f *follower) push(ctx context.Context, port string, value []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if queue := f.queues[port]; queue != nil {
		select {
		case <-queue: // older, not yet begun
		default:
		}
		queue <- value
		return
	}
	queue := make(chan []byte, 1)
	queue <- value
	f.queues[port] = queue
	f.done.Go(func() {
		for {
			f.mu.Lock()
			select {
			case next := <-queue:
				f.mu.Unlock()
				f.carryOut(ctx, port, next)
			default:
				delete(f.queues, port)
				f.mu.Unlock()
				return
			}
		}
	})
}

func (f *follower) wait() { f.done.Wait() }

// carryOut attaches or detaches one port and writes the answer.
func (f *follower) carryOut(ctx context.Context, port string, value []byte) {
	log := f.agent.cfg.Log
	if value == nil {
		for _, s := range f.agent.Ports() {
			if s.key() != port {
				continue
			}
			if err := f.agent.Detach(ctx, s.Owner, s.Port); err != nil {
				log.Error("detach", "port", port, "error", err)
				return
			}
		}
		if err := f.store.Delete(ctx, answerPrefix(f.node)+port); err != nil {
			log.Error("answer", "port", port, "error", err)
		}
		return
	}
	var w wanted
	var got answer
	err := json.Unmarshal(value, &w)
	if err == nil {
		got.Request = w.Request
		err = f.agent.attach(ctx, Status{Owner: w.Owner, Port: w.Port.Name, ID: w.Port.ID, Number: w.Number, Link: w.Port.Link})
	}
	if err != nil {
		log.Error("attach", "port", port, "error", err)
		got.Error = err.Error()
	}
	data, err := json.Marshal(got)
	if err == nil {
		err = f.store.Put(ctx, answerPrefix(f.node)+port, data)
	}
	if err != nil {
		log.Error("answer", "port", port, "error", err)
	}
}
