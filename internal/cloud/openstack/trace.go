package openstack

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// Trace records the requests to a cloud: how many of each kind, and how long they
// took. The zero value is ready.
type Trace struct {
	mu       sync.Mutex
	services map[string]string // endpoint → service
	calls    []Call
}

// Call is one request.
type Call struct {
	Service string // "compute", "network", "image", "identity"
	Method  string
	Path    string // below the endpoint, ids replaced by *, without query
	Status  int    // of HTTP; 0: no answer
	Begun   time.Time
	Took    time.Duration // until the answer's first byte
}

// wrap records what goes through next.
func (t *Trace) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		call := Call{Method: r.Method, Begun: time.Now()}
		resp, err := next.RoundTrip(r)
		call.Took = time.Since(call.Begun)
		if err == nil {
			call.Status = resp.StatusCode
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		call.Service, call.Path = t.place(r.URL.Scheme + "://" + r.URL.Host + r.URL.Path)
		t.calls = append(t.calls, call)
		return resp, err
	})
}

// name says which service is at an endpoint.
func (t *Trace) name(endpoint, service string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.services == nil {
		t.services = map[string]string{}
	}
	t.services[endpoint] = service
}

var ids = regexp.MustCompile(`[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}`)

// place tells the service and the path of a URL.
func (t *Trace) place(url string) (service, path string) {
	for endpoint, name := range t.services {
		if rest, ok := strings.CutPrefix(url, endpoint); ok {
			return name, "/" + ids.ReplaceAllString(rest, "*")
		}
	}
	_, rest, _ := strings.Cut(url, "://")
	_, rest, _ = strings.Cut(rest, "/")
	if strings.HasSuffix(rest, "/auth/tokens") {
		return "identity", "/auth/tokens"
	}
	return "", "/" + ids.ReplaceAllString(rest, "*")
}

// Calls returns the requests so far, in the order in which they ended.
func (t *Trace) Calls() []Call {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.calls)
}

// Reset forgets the requests so far.
func (t *Trace) Reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.calls = nil
}

// CallSummary is all requests of one kind.
type CallSummary struct {
	Service, Method, Path string
	Count, Failed         int
	Total, Median, Max    time.Duration
}

// Summary groups requests by service, method and path, the longest total first.
func (t *Trace) Summary() []CallSummary {
	took := map[CallSummary][]time.Duration{}
	failed := map[CallSummary]int{}
	for _, c := range t.Calls() {
		key := CallSummary{Service: c.Service, Method: c.Method, Path: c.Path}
		took[key] = append(took[key], c.Took)
		if c.Status == 0 || c.Status >= 400 {
			failed[key]++
		}
	}
	var out []CallSummary
	for key := range maps.Keys(took) {
		all := took[key]
		slices.Sort(all)
		s := key
		s.Count, s.Failed, s.Median, s.Max = len(all), failed[key], all[len(all)/2], all[len(all)-1]
		for _, d := range all {
			s.Total += d
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b CallSummary) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Service+a.Method+a.Path, b.Service+b.Method+b.Path))
	})
	return out
}

// Print writes the summary as a table.
func (t *Trace) Print(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "calls\tfailed\ttotal ms\tmedian ms\tmax ms\t  call")
	for _, s := range t.Summary() {
		fmt.Fprintf(tw, "%d\t%d\t%.0f\t%.0f\t%.0f\t  %s %s %s\n", s.Count, s.Failed, ms(s.Total), ms(s.Median), ms(s.Max), s.Service, s.Method, s.Path)
	}
	return tw.Flush()
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
