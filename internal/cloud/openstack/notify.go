package openstack

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/catena-nfv/catena/internal/cloud/openstack/watch"
)

// The exchange and the topics of Nova's versioned notifications.
const (
	novaExchange = "nova"
	novaTopic    = "versioned_notifications"
)

// follow passes Nova's notifications on until the context ends. While the queue cannot be
// reached, servers are listed instead.
func (c *Cloud) follow(ctx context.Context, url string) {
	for pause := time.Second; ctx.Err() == nil; pause = min(2*pause, time.Minute) {
		begun := time.Now()
		err := c.consume(ctx, url)
		c.watch.Notified(false)
		if ctx.Err() != nil {
			return
		}
		c.cfg.Log.Warn("no notifications; servers are listed instead", "error", err)
		if time.Since(begun) > time.Minute {
			pause = time.Second
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// consume reads notifications from a queue of its own, which goes when the connection does.
func (c *Cloud) consume(ctx context.Context, url string) error {
	conn, err := amqp.DialConfig(url, amqp.Config{Heartbeat: 10 * time.Second, Dial: amqp.DefaultDial(5 * time.Second)})
	if err != nil {
		return fmt.Errorf("message queue: %w", err)
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err != nil {
		return fmt.Errorf("message queue: %w", err)
	}
	// As Nova declares it; it does so with the first notification.
	if err := ch.ExchangeDeclare(novaExchange, amqp.ExchangeTopic, false, false, false, false, nil); err != nil {
		// It exists, declared in another way, or only Nova may.
		if ch, err = conn.Channel(); err != nil {
			return fmt.Errorf("message queue: %w", err)
		}
	}
	queue, err := ch.QueueDeclare("catena-"+rand.Text(), false, true, true, false, nil)
	if err != nil {
		return fmt.Errorf("message queue: queue: %w", err)
	}
	for _, level := range []string{"info", "error"} {
		if err := ch.QueueBind(queue.Name, novaTopic+"."+level, novaExchange, false, nil); err != nil {
			return fmt.Errorf("message queue: exchange %s: %w", novaExchange, err)
		}
	}
	messages, err := ch.ConsumeWithContext(ctx, queue.Name, "", true, true, false, false, nil)
	if err != nil {
		return fmt.Errorf("message queue: %w", err)
	}
	for m := range messages {
		n, ok := parseNotification(m.Body)
		if !ok {
			continue
		}
		// The first proves that Nova sends any.
		c.watch.Notified(true)
		if s, final := n.server(); final {
			c.watch.Push(s)
		} else if n.failed() {
			c.watch.Nudge() // perhaps it is tried on another host: the list tells
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return fmt.Errorf("message queue: the connection was lost")
}

// notification is one of Nova's about an instance.
type notification struct {
	Event   string `json:"event_type"` // "instance.create.end"
	Payload struct {
		Data struct {
			ID    string `json:"uuid"`
			Name  string `json:"display_name"`
			State string `json:"state"` // "active", "building" …
		} `json:"nova_object.data"`
	} `json:"payload"`
}

// parseNotification unwraps a message of oslo.messaging; ok is false for anything else
// than a notification about an instance.
func parseNotification(message []byte) (n notification, ok bool) {
	var envelope struct {
		Inner string `json:"oslo.message"`
	}
	if json.Unmarshal(message, &envelope) == nil && envelope.Inner != "" {
		message = []byte(envelope.Inner)
	}
	if json.Unmarshal(message, &n) != nil {
		return n, false
	}
	return n, strings.HasPrefix(n.Event, "instance.") && n.Payload.Data.ID != ""
}

// server is a server at the end of what one may wait for.
func (n notification) server() (s watch.Server, final bool) {
	s.ID, s.Name = n.Payload.Data.ID, n.Payload.Data.Name
	switch {
	case n.Event == "instance.delete.end":
		s.Status, s.Gone = "DELETED", true
	case n.Payload.Data.State == "active" && (n.Event == "instance.create.end" || n.Event == "instance.rebuild.end" || n.Event == "instance.power_on.end"):
		s.Status = "ACTIVE"
	default:
		return s, false
	}
	return s, true
}

func (n notification) failed() bool { return strings.HasSuffix(n.Event, ".error") }
