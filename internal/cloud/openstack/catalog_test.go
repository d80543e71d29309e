package openstack

import (
	"testing"
	"time"

	"github.com/catena-nfv/catena/internal/cloud/openstack/fake"
)

// TestWarm: while networks are made, images and flavors are read, once, and servers need
// no look of their own.
func TestWarm(t *testing.T) {
	f := fakeCloud(t, fake.Config{})
	c := open(t, f, nil)
	images, flavors := f.Calls("GET /image/v2/images"), f.Calls("GET /compute/v2.1/flavors/detail")
	for _, servers := range []int{0, 2} {
		if err := (site{networks: 2, servers: servers}).build(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		c.running.Wait()
		if i, fl := f.Calls("GET /image/v2/images")-images, f.Calls("GET /compute/v2.1/flavors/detail")-flavors; i != 1 || fl != 1 {
			t.Errorf("with %d servers, images were read %d times, flavors %d times, not once each", servers, i, fl)
		}
	}
	c.catalog.images.read = time.Now().Add(-2 * catalogAge)
	c.catalog.warm(t.Context())
	if age := time.Since(c.catalog.images.read); age > catalogAge {
		t.Errorf("images are %v old after they were read", age)
	}
}
