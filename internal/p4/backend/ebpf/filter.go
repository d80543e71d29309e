package ebpf

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"
)

// Before a packet looks for an element under a mask, it asks a filter whether there can be one: a bit for each hash
// value, 1 if an element has it (a Bloom filter with one function). Most masks have none for a packet, and a bit is
// sooner read than the hash map searched, whose elements lie all over the memory.

// The filter of a mask has 2^bits bits: at least two for each entry that the table can hold, so that very few are set when
// the entries have many masks. Each that is set for another element costs a look at memory far away.
const (
	minFilterBits = 9
	maxFilterBits = 17
)

func filterBits(size int) int {
	return min(max(bits.Len(uint(size-1))+1, minFilterBits), maxFilterBits)
}

// FilterWords is the number of words (u64) of a mask's filter.
func (t *Table) FilterWords() int { return 1 << t.FilterBits / 64 }

// FilterBit is the number of the bit of an element, by its key: the high bits of the sum of the key's words, each
// multiplied by an odd number (multiply-shift hashing).
func (t *Table) FilterBit(key []byte) uint32 {
	var sum uint64
	for i := 0; 8*i < len(key); i++ {
		var word uint64
		if rest := key[8*i:]; len(rest) >= 8 {
			word = binary.NativeEndian.Uint64(rest)
		} else {
			word = uint64(binary.NativeEndian.Uint32(rest))
		}
		sum += word * filterMultiplier(i)
	}
	return uint32(sum >> (64 - t.FilterBits))
}

// filterMultiplier is an odd number without a pattern (splitmix64).
func filterMultiplier(i int) uint64 {
	z := uint64(i+1) * 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31 | 1
}

// placeFilter gives a table its part of the map of all filters.
func (g *gen) placeFilter(s *Table) {
	s.FilterBits, s.FilterAt = filterBits(s.Size), g.filterWords
	g.filterWords += MaxMasks * s.FilterWords()
}

// maxFilterData is up to how many bytes the filters are data of the program.
const maxFilterData = 1 << 20

// filtersMap is the map of all filters.
func (g *gen) filtersMap() string {
	if 8*g.filterWords <= maxFilterData {
		return MapFiltersData
	}
	return MapFilters
}

// declareFilters writes the map of all filters.
func (g *gen) declareFilters() {
	if g.filterWords == 0 {
		return
	}
	name := g.filtersMap()
	g.maps.f("/* of each mask a filter of the elements under it */")
	if name == MapFiltersData {
		g.maps.f("u64 filters[%d] SEC(\"%s\");", g.filterWords, name)
	} else {
		g.declareMap(name, "ARRAY", g.filterWords, "u32", "u64", "")
	}
	g.maps.f("")
	for _, t := range g.spec.Tables {
		if t.Kind == KindTuples {
			t.Filters = name
			g.spec.MapKeys[name] += g.mapKey("filter", t) + "\n"
		}
	}
}

// tryMasks writes the loop over masks, from one to another, and what to do with a value v that is the best so far.
// They stand by falling priority: it ends when none that follows can be better.
func (g *gen) tryMasks(ti *tableInfo, masks, from, to string, take []string) {
	s, t := ti.spec, &g.funcs
	t.f("for (u32 i = %s; i < %s; i++) {", from, to)
	t.f("const struct %s_mask *m = &%s[i];", ti.c, masks)
	t.f("if (m->best <= least)")
	t.f("\tbreak;")
	t.f("struct %s_key tuple __attribute__((aligned(8)));", ti.c)
	var sum []string
	for at := 0; at < s.Key.Size; at += 8 {
		word := fmt.Sprintf("u%d", 8*min(8, s.Key.Size-at))
		t.f("%s w%d = *(const %s *)((const u8 *)key + %d) & *(const %s *)((const u8 *)&m->key + %d);", word, at/8, word, at, word, at)
		t.f("*(%s *)((u8 *)&tuple + %d) = w%d;", word, at, at/8)
		sum = append(sum, fmt.Sprintf("w%d * %#xULL", at/8, filterMultiplier(at/8)))
	}
	t.f("u64 h = (%s) >> %d;", strings.Join(sum, " + "), 64-s.FilterBits)
	t.f("u64 at = m->filter + (h >> 6);")
	if g.filtersMap() == MapFiltersData {
		t.f("if (!IN_ARRAY(at, %d) || !(filters[at + %d] >> (h & 63) & 1))", MaxMasks*s.FilterWords(), s.FilterAt)
	} else {
		t.f("u32 word = at + %d;", s.FilterAt)
		t.f("const u64 *f = bpf_map_lookup_elem(&%s, &word);", MapFilters)
		t.f("if (!f || !(*f >> (h & 63) & 1))")
	}
	t.f("\tcontinue;")
	t.f("struct %s_value *v = bpf_map_lookup_elem(&%s, &tuple);", ti.c, ti.c)
	t.f("if (v && v->priority >= least) {")
	for _, x := range take {
		t.f("%s", x)
	}
	t.f("least = v->priority + 1;")
	t.f("}")
	t.f("}")
}
