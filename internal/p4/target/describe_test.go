package target

import "testing"

func TestDescribe(t *testing.T) {
	e := Entry{Priority: 7, Action: &Action{Name: "I.to"}, Match: []Match{
		{Value: []byte{0, 1}}, {Any: true}, {Value: []byte{10, 0, 0, 0}, PrefixLen: 8},
		{Value: []byte{2}, Mask: []byte{3}}, {Lo: []byte{1}, Hi: []byte{9}}}}
	if got, want := e.Describe(), "entry (0001, *, 0a000000/8, 02&03, 01..09) of priority 7 with I.to"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := (Entry{Group: 3}).Describe(), "entry () with group 3"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
