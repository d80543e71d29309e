package server

import (
	"testing"
	"time"

	"github.com/catena-nfv/catena/internal/p4/target"
	"github.com/catena-nfv/catena/internal/p4rt"
	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/protobuf/encoding/prototext"
)

// Digests that were sent are not repeated before they are acknowledged or the
// acknowledgement is overdue.
func TestDigestCache(t *testing.T) {
	info := &configv1.P4Info{}
	if err := prototext.Unmarshal([]byte(`digests { preamble { id: 5 name: "d" } type_spec { bitstring { bit { bitwidth: 8 } } } }`), info); err != nil {
		t.Fatal(err)
	}
	schema, err := p4rt.NewSchema(info)
	if err != nil {
		t.Fatal(err)
	}
	var sent []*v1.DigestList
	b := newDigestBook(func(l *v1.DigestList) { sent = append(sent, l) })
	defer b.close()
	clock := time.Unix(1000, 0)
	b.now = func() time.Time { return clock }
	b.setSchema(schema, false)
	conf := &v1.DigestEntry{DigestId: 5, Config: &v1.DigestEntry_Config{MaxListSize: 1, AckTimeoutNs: int64(time.Second)}}
	if err := b.configure(schema, v1.Update_INSERT, conf); err != nil {
		t.Fatal(err)
	}
	say := func(v byte, want int) {
		t.Helper()
		b.add(target.Digest{Name: "d", Values: [][]byte{{v}}})
		if len(sent) != want {
			t.Fatalf("after %d: %d lists sent, want %d", v, len(sent), want)
		}
	}
	say(1, 1)
	say(1, 1)
	say(2, 2)
	if err := b.ack(&v1.DigestListAck{DigestId: 5, ListId: sent[0].ListId}); err != nil {
		t.Fatal(err)
	}
	say(2, 2)
	say(1, 3)
	clock = clock.Add(999 * time.Millisecond)
	say(2, 3)
	clock = clock.Add(time.Millisecond)
	say(2, 4)
	if err := b.ack(&v1.DigestListAck{DigestId: 6}); err == nil {
		t.Error("acknowledged an unknown digest")
	}
	// A swap keeps what is enabled only if asked.
	b.setSchema(schema, true)
	say(9, 5)
	b.setSchema(schema, false)
	say(10, 5)
}
