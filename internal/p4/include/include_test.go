package include

import (
	"slices"
	"testing"
)

func TestSource(t *testing.T) {
	if got := Names(); !slices.Equal(got, []string{"core.p4", "flow_state.p4", "v1model.p4"}) {
		t.Errorf("Names() = %v", got)
	}
	for _, name := range Names() {
		if src, ok := Source(name); !ok || len(src) == 0 {
			t.Errorf("%s is empty or missing", name)
		}
	}
	if _, ok := Source("psa.p4"); ok {
		t.Error("psa.p4 is found")
	}
}
