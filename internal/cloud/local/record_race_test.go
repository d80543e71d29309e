package local

import (
	"sync"
	"testing"

	"github.com/catena-nfv/catena/internal/service"
)

// TestRecordsOfOneOwner makes and deletes records of one owner at the same time: the
// folder that a delete removes may be the one that a put has just made.
func TestRecordsOfOneOwner(t *testing.T) {
	dir := t.TempDir()
	s := records{dir: dir + "/objects", scratch: dir}
	o := service.Owner{Project: "p", Service: "s"}
	var all sync.WaitGroup
	for _, name := range []string{"a", "b"} {
		all.Go(func() {
			for range 2000 {
				if err := s.put(record{Owner: o, Kind: service.KindNetwork, Name: name}); err != nil {
					t.Error(err)
					return
				}
				if err := s.delete(o, service.KindNetwork, name); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}
