package orchestration

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/catena-nfv/catena/examples"
	"github.com/catena-nfv/catena/internal/service"
)

// Platform names a column.
type Platform string

// The platforms, in the order of the reports.
const (
	REST         Platform = "rest"
	RESTOverlap  Platform = "rest+overlap"
	GRPC         Platform = "grpc"
	RESTEngine   Platform = "rest+engine"
	GRPCSequence Platform = "grpc+sequence"
	Limit        Platform = "limit"
)

// Platforms are all of them.
var Platforms = []Platform{REST, GRPC, RESTOverlap, RESTEngine, GRPCSequence, Limit}

// Workload is what clients ask for at the same time, the same service each.
type Workload struct {
	Name    string
	Source  string // "paper 000, use case 1"
	Group   string // of a summary: "1-4", "5-7"; "" is in none
	Clients int
	// Servers is the number of instances of one client's service, functions included.
	Servers int
	service *service.Service
	text    string // of the service file
	// Paper has the paper's seconds, by backend and platform ("ovs/rest").
	Paper map[string]float64
}

// Instances is how many servers the cloud makes in all.
func (w *Workload) Instances() int { return w.Clients * w.Servers }

// of returns the name and the file of the service that one of the clients asks for.
func (w *Workload) of(client int) (name, text string) {
	name = w.service.Name
	if w.Clients > 1 {
		name = fmt.Sprintf("%s-%d", name, client+1)
	}
	return name, nameRx.ReplaceAllLiteralString(w.text, "name: "+name)
}

var (
	nameRx  = regexp.MustCompile(`(?m)^name: .*$`)
	imageRx = regexp.MustCompile(`(?m)^( *)image: .*$`)
)

func table(ovsREST, ovsGRPC, p4REST, p4GRPC float64) map[string]float64 {
	return map[string]float64{"ovs/rest": ovsREST, "ovs/grpc": ovsGRPC, "p4/rest": p4REST, "p4/grpc": p4GRPC}
}

// useCases are those of paper 000, with its Table V.
var useCases = []struct {
	clients int
	group   string
	paper   map[string]float64
}{
	{1, "1-4", table(9.88, 8.33, 8.4, 6.88)},
	{1, "1-4", table(15.65, 11.82, 13.49, 8.66)},
	{1, "1-4", table(21.32, 14.31, 18.58, 10.44)},
	{1, "1-4", table(28.43, 17.8, 23.67, 12.22)},
	{1, "5-7", table(27.43, 13.49, 23.61, 12.62)},
	{2, "5-7", table(58.67, 28.22, 50.87, 26.84)},
	{4, "5-7", table(120.81, 58.71, 104.26, 54.06)},
}

// chains are the use cases of paper 001, with its Table III, for one client and two.
var chains = [][2][2]float64{
	{{8.56, 6.63}, {13, 9.83}},
	{{10.74, 8.84}, {18.72, 13.79}},
	{{13.1, 9.44}, {22.44, 14.6}},
	{{17.51, 13.69}, {25.59, 17.32}},
}

// grid is Table II of paper 001: instances, clients, REST and gRPC.
var grid = []struct {
	servers, clients int
	rest, grpc       float64
}{
	{1, 1, 6.4, 7.6}, {1, 3, 14.46, 15.1}, {1, 5, 20.5, 22.04}, {1, 7, 34.25, 28.23}, {1, 10, 42.97, 38.35},
	{2, 1, 12.25, 10.67}, {2, 2, 15.9, 17.5}, {2, 3, 21.03, 21.56}, {2, 4, 29.13, 28.24}, {2, 5, 39.66, 36.31},
	{3, 1, 15.91, 14.86}, {3, 2, 27.01, 24.16}, {3, 3, 40.86, 33.53},
	{4, 1, 22.24, 18.72}, {4, 2, 34.8, 31.4},
	{5, 1, 21.96, 18.96}, {5, 2, 39.12, 29.1},
}

// Workloads returns all, in the order of the papers, with that image and flavor for all
// servers.
func Workloads(image, flavor string) ([]Workload, error) {
	var all []Workload
	add := func(w Workload, file, text string) error {
		w.text = imageRx.ReplaceAllString(text, "${1}image: "+image+"\n${1}flavor: "+flavor)
		s, _, err := service.Parse(file, []byte(w.text))
		if err != nil {
			return err
		}
		for _, v := range s.Servers {
			if v.Image != image || v.Flavor != flavor {
				return fmt.Errorf("%s: server %s has no line with its image", file, v.Name)
			}
			w.Servers += v.Count
		}
		w.Servers += len(s.Functions)
		w.service = s
		all = append(all, w)
		return nil
	}
	example := func(w Workload, name string) error {
		text, err := examples.Files.ReadFile(name + ".yaml")
		if err != nil {
			return err
		}
		return add(w, name+".yaml", string(text))
	}
	for i, u := range useCases {
		name := fmt.Sprintf("usecase%d", i+1)
		if err := example(Workload{Name: name, Source: fmt.Sprintf("000, use case %d", i+1), Group: u.group, Clients: u.clients, Paper: u.paper}, name); err != nil {
			return nil, err
		}
	}
	for i, c := range chains {
		for clients := 1; clients <= 2; clients++ {
			name := fmt.Sprintf("sfc%d", i+1)
			w := Workload{Name: fmt.Sprintf("%s-x%d", name, clients), Source: fmt.Sprintf("001, use case %d", i+1), Clients: clients,
				Paper: map[string]float64{"ovs/rest": c[clients-1][0], "ovs/grpc": c[clients-1][1]}}
			if err := example(w, name); err != nil {
				return nil, err
			}
		}
	}
	for _, g := range grid {
		name := fmt.Sprintf("n%d-m%d", g.clients, g.servers)
		text := fmt.Sprintf("name: %s\nnetworks:\n  - {name: private, subnet: 10.30.1.0/24}\nservers:\n  - name: server\n    image: any\n    count: %d\n    networks: [private]\n", name, g.servers)
		w := Workload{Name: name, Source: fmt.Sprintf("001, %d clients × %d servers", g.clients, g.servers), Clients: g.clients,
			Paper: map[string]float64{"ovs/rest": g.rest, "ovs/grpc": g.grpc}}
		if err := add(w, name, text); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Choose returns the workloads that a list names: names, or "usecases", "sfc", "grid",
// "all".
func Choose(all []Workload, list []string) ([]Workload, error) {
	sets := map[string]string{"usecases": "000, ", "sfc": "001, use case", "grid": "001, ", "all": ""}
	var out []Workload
	for _, item := range list {
		prefix, set := sets[item]
		found := false
		for _, w := range all {
			if item == "grid" && !strings.Contains(w.Source, "clients") {
				continue
			}
			if w.Name == item || set && strings.HasPrefix(w.Source, prefix) {
				found = true
				if !slices.ContainsFunc(out, func(have Workload) bool { return have.Name == w.Name }) {
					out = append(out, w)
				}
			}
		}
		if !found {
			var names []string
			for _, w := range all {
				names = append(names, w.Name)
			}
			return nil, fmt.Errorf("no case %q; there are usecases, sfc, grid, all and %s", item, strings.Join(names, ", "))
		}
	}
	return out, nil
}
