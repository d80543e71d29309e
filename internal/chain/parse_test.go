package chain

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// pathsText prints the paths of all requests: paths separated by " | ", requests by " ; ".
func pathsText(dags []DAG) string {
	var reqs []string
	for _, d := range dags {
		var ps []string
		for _, p := range d.PathNames() {
			ps = append(ps, strings.Join(p, " "))
		}
		reqs = append(reqs, strings.Join(ps, " | "))
	}
	return strings.Join(reqs, " ; ")
}

func TestPaths(t *testing.T) {
	tests := []struct{ name, src, want string }{
		// Table III of the paper.
		{"SFC1", "IDS before Firewall before NAT before L3fwd", "IDS Firewall NAT L3fwd"},
		{"SFC2", "LB then L3fwd or Firewall and branch_end=Firewall, Firewall before NAT",
			"LB L3fwd Firewall NAT | LB Firewall NAT"},
		{"SFC3", "NAT before L2fwd before LB before L3fwd before Firewall", "NAT L2fwd LB L3fwd Firewall"},

		{"before is a partial order", "A before B, A before C", "A B C"},
		{"two heads", "IDS before NAT, Firewall before NAT", "IDS Firewall NAT"},
		{"diamond of before", "A before B, A before C, B before D, C before D", "A B C D"},
		{"order written among equals", "B before Z, A before Z", "B A Z"},
		{"later clause reorders", "B before Z, A before Z, A before B", "A B Z"},
		{"clause repeated", "A before B, A before B", "A B"},

		{"branches", "A then B or C", "A B | A C"},
		{"three branches", "A then B or C or D", "A B | A C | A D"},
		{"branch_end", "A then B or C and branch_end=E", "A B E | A C E"},
		{"branch_end after long branch", "A then B or C and branch_end=E, B before D", "A B D E | A C E"},
		{"spaces around =", "A then B or C and branch_end = E", "A B E | A C E"},
		{"long branch without end", "A then B or C, B before D", "A B D | A C"},
		{"both branches go on to D", "A then B or C, B before D, C before D", "A B D | A C D"},
		{"after the end", "A then B or C and branch_end=E, E before F", "A B E F | A C E F"},
		{"after both the end and a branch", "A then B or C and branch_end=E, E before D, B before D", "A B E D | A C E D"},
		{"nested", "A then B or C, B then D or E", "A B D | A B E | A C"},
		{"nested under an end", "A then B or C and branch_end=E, B then F or G", "A B F E | A B G E | A C E"},
		{"nested ends", "A then B or C and branch_end=E, B then F or G and branch_end=H",
			"A B F H E | A B G H E | A C E"},
		{"in sequence", "A then B or C and branch_end=E, E then F or G", "A B E F | A B E G | A C E F | A C E G"},
		{"unrelated branchings multiply", "A then B or C, D then E or F", "A B D E | A B D F | A C D E | A C D F"},
		{"outside of the branches goes first", "A then B or C, A before D", "A D B | A D C"},
		{"unrelated NF goes before the branching", "A then B or C, D before E", "D E A B | D E A C"},
		{"prefix of a branch", "A then B or C, D before B", "D A B | D A C"},
		{"from one branch into the other", "A then B or C, B before C", "A B C | A C"},
		{"branch that is the end of the other, by before", "A then B or C, A before B", "A B | A C"},
		{"two then clauses of one NF", "A then B or C and branch_end=E, A then D or F", "A B E | A C E | A D | A F"},
		{"branch of two NFs", "A then B or C, X then B or D", "A X B | A X B D | A C X B | A C X D"},

		{"first alone", "A first", "A"},
		{"last alone", "A last", "A"},
		{"loop alone", "A loop", "A"},
		{"first puts in front", "A before B, C first", "C A B"},
		{"last puts behind", "C last, A before B", "A B C"},
		{"last behind all branches", "A then B or C, D last", "A B D | A C D"},
		{"last in one branch stays there", "A then B or C, B before D, D last", "A B D | A C"},
		{"first on the branching NF", "A first, A then B or C", "A B | A C"},
		{"first goes before unrelated", "A before B, C before D, C first", "C A B D"},

		{"serial numbers", "Firewall before NAT before Firewall#2", "Firewall NAT Firewall#2"},
		{"serial number and comment", "Firewall#2 before NAT #3 is not here", "Firewall#2 NAT"},
		{"comment glued to a name", "A before B#comment\nC last", "A B C"},
		{"newlines, blank lines, comments", "# top\r\n\n A before B # x\n,\n\tB before C\n", "A B C"},
		{"several requests", "A before B\nEnd_of_Request\nC first, End_of_Request", "A B ; C"},
		{"last delimiter left out", "A before B, End_of_Request\nC before D", "A B ; C D"},
		{"byte order mark", "\ufeffA before B", "A B"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			dags, err := Parse(tc.src, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := pathsText(dags); got != tc.want {
				t.Errorf("%s\n got %s\nwant %s", tc.src, got, tc.want)
			}
		})
	}
}

// TestErrors holds, per line, the positions and the beginnings of all messages.
func TestErrors(t *testing.T) {
	tests := []struct {
		src  string
		want []string
	}{
		{"", []string{"1:1 no request found"}},
		{"# only a comment\n", []string{"2:1 no request found"}},
		{"End_of_Request", []string{"1:1 empty request"}},
		{"A before B, End_of_Request, End_of_Request", []string{"1:29 empty request"}},
		{"A", []string{"1:2 expected before, then, first, last or loop after A, found the end of the text"}},
		{"A before\nB first", []string{"1:9 expected the name of an NF after `before`, found the end of the line"}},
		{"A B", []string{"1:3 expected before, then, first, last or loop after A, found `B`"}},
		{"before B", []string{"1:1 expected the name of an NF at the start of a clause, found `before`"}},
		{"A before then", []string{"1:10 expected the name of an NF after `before`, found `then`"}},
		{"A then B", []string{"1:9 `then` needs two branches or more"}},
		{"A then B or", []string{"1:12 expected the name of an NF after `or`"}},
		{"A then B or C and E", []string{"1:19 expected `branch_end` in `and branch_end=NF`, found `E`"}},
		{"A then B or C and branch_end E", []string{"1:30 expected `=` in `and branch_end=NF`, found `E`"}},
		{"A then B or C and branch_end=,", []string{"1:30 expected the name of an NF after `branch_end=`, found `,`"}},
		{"A then B or B", []string{"1:13 B is already a branch of A"}},
		{"A then B or C, A then D or B", []string{"1:28 B is already a branch of A"}},
		{"A before B then C or D", []string{"1:12 expected a comma or a new line after the clause of A, found `then`"}},
		{"A first last", []string{"1:9 expected a comma or a new line after the clause of A, found `last`"}},
		{"9fw before B", []string{`1:1 NF names begin with a letter or _, found "9fw"`}},
		{"A; B before C", []string{`1:2 unexpected character ";"`, "1:4 expected before, then"}},
		{"A#0 before B", []string{"1:2 serial number `#0` of A is not between 1 and 9999"}},
		{"A#2x before B", []string{"1:2 malformed serial number `#2x` of A"}},
		{"A#2#3 before B", []string{"1:2 malformed serial number `#2#3` of A"}},
		{"A#99999999999999999999 before B", []string{"1:2 serial number"}},
		{"A before#2 B", []string{"1:9 `before` is a word of the language and takes no serial number"}},

		{"A before A", []string{"1:10 request is not acyclic: A -> A"}},
		{"A before B before A", []string{"1:19 request is not acyclic: A -> B -> A"}},
		{"A before B\nB before C\nC before A", []string{"3:10 request is not acyclic: A -> B -> C -> A"}},
		{"X before A, B before A, A before B", []string{"1:34 request is not acyclic: A -> B -> A"}},
		{"A then A or B", []string{"1:8 request is not acyclic: A -> A"}},
		{"A then B or C, B before A", []string{"1:25 request is not acyclic: A -> B -> A"}},
		{"A then B or C and branch_end=A", []string{"1:30 request is not acyclic: A -> A"}},
		{"A then B or C and branch_end=E, E before B", []string{"1:42 request is not acyclic: B -> E -> B"}},
		{"A before B before A, C before D before C", []string{
			"1:19 request is not acyclic: A -> B -> A", "1:40 request is not acyclic: C -> D -> C"}},
		{"A before B, B first", []string{"1:13 B cannot be first: A comes before it"}},
		{"A before B, A last", []string{"1:13 A cannot be last: B comes after it"}},
		{"A then B or C, B first", []string{"1:16 B cannot be first: A comes before it"}},
		{"A then B or C and branch_end=E, B last", []string{"1:33 B cannot be last: E comes after it"}},
		{"A first, B first", []string{"1:10 A and B cannot both be first"}},
		{"A last, B last", []string{"1:9 A and B cannot both be last"}},
		{"A first, A last, B loop", []string{"1:10 A cannot be both first and last of 2 NFs"}},

		// One bad request or clause does not hide the next.
		{"A before\nB then C\nEnd_of_Request\nD before D", []string{
			"1:9 expected the name", "2:9 `then` needs two", "4:10 request is not acyclic: D -> D"}},
	}
	for _, tc := range tests {
		_, err := Parse(tc.src, Options{})
		var ps Problems
		if !errors.As(err, &ps) {
			t.Errorf("%q: no Problems but %v", tc.src, err)
			continue
		}
		var got []string
		for _, p := range ps {
			got = append(got, fmt.Sprintf("%d:%d %s", p.Pos.Line, p.Pos.Col, p.Msg))
		}
		ok := len(got) == len(tc.want)
		for i := range got {
			ok = ok && strings.HasPrefix(got[i], tc.want[i])
		}
		if !ok {
			t.Errorf("%q:\n got %s\nwant %s", tc.src, strings.Join(got, "\n     "), strings.Join(tc.want, "\n     "))
		}
	}
}

func TestProblemText(t *testing.T) {
	_, err := Parse("# x\n\tIDS before NAT, NAT before IDS", Options{File: "a/dc.sfc"})
	want := "a/dc.sfc:2:29: error: request is not acyclic: IDS -> NAT -> IDS\n" +
		"    \tIDS before NAT, NAT before IDS\n" +
		"    \t                           ^~~\n" +
		"  note: a second invocation of IDS is written with a serial number, IDS#2"
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestProblemsBounded(t *testing.T) {
	_, err := Parse(strings.Repeat("A\n", 1000), Options{})
	var ps Problems
	if !errors.As(err, &ps) || len(ps) != maxProblems {
		t.Fatalf("got %v", err)
	}
	if last := ps[len(ps)-1]; len(last.Notes) == 0 || last.Notes[len(last.Notes)-1] != "980 more errors not shown" {
		t.Errorf("notes of the last: %q", last.Notes)
	}
}

func TestLimits(t *testing.T) {
	var forks, wide strings.Builder
	for i := range 40 {
		fmt.Fprintf(&forks, "A%d then B%d or C%d and branch_end=A%d\n", i, i, i, i+1)
	}
	for i := range MaxNFs {
		fmt.Fprintf(&wide, "N%d before N%d\n", i, i+1)
	}
	for name, tc := range map[string]struct{ src, want string }{
		"paths": {forks.String(), "has more than 1024 paths"},
		"nfs":   {wide.String(), "has 513 NFs, the limit is 512"},
		"text":  {strings.Repeat(" ", MaxText+1), "bytes of request text"},
	} {
		if _, err := Parse(tc.src, Options{}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
	// Ten forks are 1024 paths: just allowed.
	ten := strings.Join(strings.Split(forks.String(), "\n")[:10], "\n")
	dags, err := Parse(ten, Options{})
	if err != nil || len(dags[0].Paths()) != 1024 {
		t.Errorf("ten forks: %v", err)
	}
}

func TestNamesTablesLoops(t *testing.T) {
	tables := func(nf string) int { return map[string]int{"NAT": 3}[nf] }
	dags, err := Parse("IDS before NAT, NAT loop, End_of_Request, LB first", Options{File: "x/shop.sfc", Tables: tables, MaxLoops: 2})
	if err != nil {
		t.Fatal(err)
	}
	if dags[0].Name != "shop-1" || dags[1].Name != "shop-2" {
		t.Errorf("names %q, %q", dags[0].Name, dags[1].Name)
	}
	d := dags[0]
	if d.Tables() != 4 || !d.NFs[1].Loop || d.NFs[0].Loop || d.MaxLoops != 2 {
		t.Errorf("got %+v", d)
	}
	if e := d.Edges(); len(e) != 1 || e[0] != [2]int{0, 1} {
		t.Errorf("edges %v", e)
	}
}
