package ebpf

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"
)

// The elements of a tuple space lie in an array, found by an index that all masks share. A word of the index is a filter of
// the elements that hash to it, of which two bits are set for each (a Bloom filter); beside the words lie the slots of the
// first of them. Most masks have no element for a packet, and the word says so. If there may be one, it is a look further:
// key, value and the next element of the chain lie side by side. (The kernel's hash map looks at more places far apart,
// each of which costs as much as trying a dozen masks when a table has thousands of entries.)
//
// So that few entries take few cache lines, the index has levels, each twice as large as the one before, of which one is
// in force. That of 2^b words begins at word 2^b.
const (
	minIndexBits = 6  // of the smallest level
	filterBits   = 12 // of a hash, which choose an element's bits in a word
	// NoSlot is what ends a chain.
	NoSlot = 1<<32 - 1
	// MaxChain is how many elements a word leads to at most.
	MaxChain = 12
	// maxSlots is from how many elements on there is none for each prefix that a range may split into.
	maxSlots = 1 << 20
)

// placeElements lays the elements of a tuple space out, and its index.
func (g *gen) placeElements(s *Table, valueAlign int) {
	s.NextAt = s.Key.Size
	s.ValueAt = align(s.NextAt+4, valueAlign)
	s.ElementSize = align(s.ValueAt+s.ValueSize, 8)
	s.Slots = s.Size
	if n := s.Size * rangeFactor(s.Keys); n > s.Size { // an entry with ranges takes several
		s.Slots = max(s.Size, min(n, maxSlots))
	}
	s.IndexBits = max(bits.Len(uint(s.Slots-1)), minIndexBits)
	// What was taken from packets is used again only when those are through that may still look at it.
	s.Slots += max(s.Slots/16, 64)
	s.IndexAt = g.indexWords
	g.indexWords += 2 << s.IndexBits
}

// FirstIndexBits is the logarithm of the words of the level that an empty table begins with.
func (t *Table) FirstIndexBits() int { return min(minIndexBits, t.IndexBits) }

// Sum is the hash of an element's key: the sum of the key's words, each multiplied by an odd number (multiply-shift
// hashing). Its high bits are the good ones.
func (t *Table) Sum(key []byte) uint64 {
	var sum uint64
	for i := 0; 8*i < len(key); i++ {
		var word uint64
		if rest := key[8*i:]; len(rest) >= 8 {
			word = binary.NativeEndian.Uint64(rest)
		} else {
			word = uint64(binary.NativeEndian.Uint32(rest))
		}
		sum += word * keyMultiplier(i)
	}
	return sum
}

// IndexShift is by what a packet shifts its sum on a level of 2^b words.
func IndexShift(b int) int { return 64 - filterBits - b }

// IndexWord is the word of an element, from the first of a level with a shift on, and its bits in that.
func IndexWord(sum uint64, shift int) (word int, filter uint64) {
	h := sum >> shift
	return int(h >> filterBits), 1<<(h&63) | 1<<(h>>6&63)
}

// keyMultiplier is an odd number without a pattern (splitmix64).
func keyMultiplier(i int) uint64 {
	z := uint64(i+1) * 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31 | 1
}

// declareIndex writes the map of all indices.
func (g *gen) declareIndex() {
	if g.indexWords == 0 {
		return
	}
	g.maps.f("/* where the elements of tuple spaces are: %d filters, of all that hash alike, and as many (u32) slots of the first of them */", g.indexWords)
	g.maps.f("u64 tuples[1] SEC(\"%s\");", MapIndex)
	g.maps.f("")
	g.spec.Room[MapIndex] = 12 * g.indexWords
	for _, t := range g.spec.Tables {
		if t.Kind == KindTuples {
			t.Index, t.FirstAt = MapIndex, 8*g.indexWords+4*t.IndexAt
			g.spec.MapKeys[MapIndex] += g.mapKey("index", t) + "\n"
		}
	}
}

// declareTuples writes the maps of a tuple space.
func (g *gen) declareTuples(ti *tableInfo) {
	s, t := ti.spec, &g.maps
	t.f("struct %s_mask {", ti.c)
	t.f("u32 best; /* priority, plus one; 0 ends the list */")
	t.f("u32 level; /* of the index: its first word */")
	t.f("u64 shift;")
	t.f("struct %s_key key;", ti.c)
	t.f("} __attribute__((aligned(8)));")
	t.f("_Static_assert(sizeof(struct %s_mask) == %d, \"layout\");", ti.c, MaskStride(s.Key.Size))
	t.f("struct %s_masks {", ti.c)
	t.f("struct %s_mask m[MAX_MASKS];", ti.c)
	t.f("};")
	t.f("struct %s_masks %s_masks[2] SEC(\"%s\");", ti.c, ti.c, s.Masks)
	t.f("struct %s_element {", ti.c)
	t.f("struct %s_key key;", ti.c)
	t.f("u32 next; /* slot, or NO_SLOT */")
	t.f("struct %s_value value;", ti.c)
	t.f("} __attribute__((aligned(8)));")
	t.f("_Static_assert(__builtin_offsetof(struct %s_element, next) == %d, \"layout\");", ti.c, s.NextAt)
	t.f("_Static_assert(__builtin_offsetof(struct %s_element, value) == %d, \"layout\");", ti.c, s.ValueAt)
	t.f("_Static_assert(sizeof(struct %s_element) == %d, \"layout\");", ti.c, s.ElementSize)
	t.f("struct %s_element %s[1] SEC(\"%s\"); /* %d */", ti.c, ti.c, s.Map, s.Slots)
	g.spec.Room[s.Map] = s.ElementSize * s.Slots
}

// firstMasks is how many masks of a tuple space each apply tries by itself. More are left to a function.
const firstMasks = 4

// writeTupleSearch writes the search of a tuple space. The first masks are tried inline, one after another without a
// loop, and the entry is found by its pointer. A global function tries the others, and all that follow one under which
// there are several elements to look at: the verifier looks at its loop once, and not again for every way on which packets come to it; such a function cannot return a pointer and copies
// the entry. Where the verifier's time counts, it tries eight masks at a time, and none is tried inline.
func (g *gen) writeTupleSearch(ti *tableInfo) {
	g.writeFollow(ti)
	if g.shared {
		g.writeEights(ti)
		return
	}
	t := &g.funcs
	t.f("struct %s_search {", ti.c)
	t.f("u64 key[%d]; /* struct %s_key */", (ti.spec.Key.Size+7)/8, ti.c)
	t.f("u32 from; /* the mask to begin with */")
	t.f("u32 least; /* priority that is better, and so what masks with no better one have */")
	t.f("struct %s_value found;", ti.c)
	t.f("};")
	t.f("/* Tries the other masks: whether a better entry was found. */")
	t.f("__noinline int search_more_%s(struct %s_search *c)", ti.c, ti.c)
	t.f("{")
	t.f("const struct %s_mask *masks = %s_masks[tables.%s.masks & 1].m;", ti.c, ti.c, ti.c)
	t.f("HELD(masks);")
	t.f("if (!c)")
	t.f("\treturn 0;")
	t.f("const u64 *key = c->key;")
	t.f("u32 least = c->least;")
	t.f("int found = nothing; /* not a number that the verifier knows: after each mask all ways look the same to it */")
	g.tryMasks(ti, "masks", "c->from", "MAX_MASKS", []string{"found = 1;", "c->found = *v;"})
	t.f("return found;")
	t.f("}")
	t.f("")
	t.f("/* The best entry, or null. */")
	t.f("static __always_inline struct %s_value *search_%s(struct %s_search *c, const u64 *key)", ti.c, ti.c, ti.c)
	t.f("{")
	t.f("const struct %s_mask *masks = %s_masks[tables.%s.masks & 1].m;", ti.c, ti.c, ti.c)
	t.f("HELD(masks);")
	t.f("struct %s_value *found = 0;", ti.c)
	t.f("u32 least = 0;")
	t.f("u32 from = FIRST_MASKS;")
	t.f("const u64 *index = tuples;")
	t.f("HELD(index);")
	t.f("#pragma unroll")
	g.tryFirst(ti, "masks", []string{"found = v;"})
	t.f("if (RARE(from < FIRST_MASKS || masks[FIRST_MASKS].best > least)) {")
	for i := range (ti.spec.Key.Size + 7) / 8 {
		t.f("c->key[%d] = key[%d];", i, i)
	}
	t.f("c->from = from;")
	t.f("c->least = least;")
	t.f("if (search_more_%s(c))", ti.c)
	t.f("\treturn &c->found;")
	t.f("}")
	t.f("return found;")
	t.f("}")
	t.f("")
}

// writeEights writes the search of a tuple space in programs that apply many tables.
func (g *gen) writeEights(ti *tableInfo) {
	t := &g.funcs
	t.f("struct %s_eight {", ti.c)
	t.f("struct %s_mask m[8];", ti.c)
	t.f("};")
	t.f("/* Tries eight masks, and returns what is least then. */")
	t.f("__noinline u32 try_%s(const struct %s_key *key, struct %s_value *found, const struct %s_eight *list, u32 least)", ti.c, ti.c, ti.c, ti.c)
	t.f("{")
	t.f("if (!list || !key || !found)")
	t.f("\treturn 0;")
	g.tryMasks(ti, "list->m", "0", "8", []string{"*found = *v;"})
	t.f("return least;")
	t.f("}")
	t.f("")
	t.f("static __always_inline u32 search_%s(const struct %s_key *key, struct %s_value *found)", ti.c, ti.c, ti.c)
	t.f("{")
	t.f("const struct %s_masks *list = &%s_masks[tables.%s.masks & 1];", ti.c, ti.c, ti.c)
	t.f("u32 least = 0;")
	t.f("for (u32 i = 0; i < MAX_MASKS; i += 8) {")
	t.f("const struct %s_eight *eight = (const struct %s_eight *)&list->m[i];", ti.c, ti.c)
	t.f("if (eight->m[0].best <= least)")
	t.f("\tbreak;")
	t.f("least = try_%s(key, found, eight, least);", ti.c)
	t.f("}")
	t.f("return least != 0;")
	t.f("}")
	t.f("")
}

// tryMasks writes the loop over masks, from one to another, and what to do with a value v that is the best so far.
// They stand by falling priority: it ends when none that follows can be better.
func (g *gen) tryMasks(ti *tableInfo, masks, from, to string, take []string) {
	t := &g.funcs
	t.f("const u64 *index = tuples;")
	t.f("HELD(index);")
	t.f("for (u32 i = %s; IN_ARRAY(i, %s); i++) {", from, to) // not a second count, which the verifier would not bound
	g.tryMask(ti, masks)
	t.f("if (!IN_ARRAY(slot, %d))", ti.spec.Slots)
	t.f("\tcontinue;")
	t.f("struct %s_element *e = ROOM(%s, slot);", ti.c, ti.c)
	t.f("if (!(%s)) {", ti.spec.equal())
	t.f("if (e->next == NO_SLOT)")
	t.f("\tcontinue;")
	var words []string
	for at := 0; at < ti.spec.Key.Size; at += 8 {
		words = append(words, fmt.Sprintf("w%d", at/8))
	}
	t.f("u64 tuple[] = {%s};", strings.Join(words, ", "))
	t.f("slot = follow_%s((const struct %s_key *)tuple, e->next);", ti.c, ti.c)
	t.f("if (!IN_ARRAY(slot, %d))", ti.spec.Slots)
	t.f("\tcontinue;")
	t.f("e = ROOM(%s, slot);", ti.c)
	t.f("}")
	g.takeBetter(ti, take)
	t.f("}")
}

// writeFollow writes the function that finds an element in what is left of a chain. It is global for the verifier's sake,
// which else would follow chains under each mask.
func (g *gen) writeFollow(ti *tableInfo) {
	t := &g.funcs
	t.f("/* The slot of the element with a key in a chain from a slot on. */")
	t.f("__noinline u32 follow_%s(const struct %s_key *key, u32 slot)", ti.c, ti.c)
	t.f("{")
	t.f("if (!key)")
	t.f("\treturn NO_SLOT;")
	for at := 0; at < ti.spec.Key.Size; at += 8 {
		word := fmt.Sprintf("u%d", 8*min(8, ti.spec.Key.Size-at))
		t.f("%s w%d = *(const %s *)((const u8 *)key + %d);", word, at/8, word, at)
	}
	t.f("for (u32 n = 1; n < MAX_CHAIN && IN_ARRAY(slot, %d); n++) {", ti.spec.Slots)
	t.f("struct %s_element *e = ROOM(%s, slot);", ti.c, ti.c)
	t.f("if (%s)", ti.spec.equal())
	t.f("\treturn slot;")
	t.f("slot = e->next;")
	t.f("}")
	t.f("return NO_SLOT;")
	t.f("}")
	t.f("")
}

// equal is the condition on which an element e has the key w0, w1 …
func (s *Table) equal() string {
	var same []string
	for at := 0; at < s.Key.Size; at += 8 {
		same = append(same, fmt.Sprintf("*(const u%d *)((const u8 *)e + %d) == w%d", 8*min(8, s.Key.Size-at), at, at/8))
	}
	return strings.Join(same, " && ")
}

// tryFirst writes the loop over the first masks. It ends also at one under which more than an element is to be looked at.
func (g *gen) tryFirst(ti *tableInfo, masks string, take []string) {
	t := &g.funcs
	t.f("for (u32 i = 0; i < FIRST_MASKS; i++) {")
	g.tryMask(ti, masks)
	t.f("if (!IN_ARRAY(slot, %d))", ti.spec.Slots)
	t.f("\tcontinue;")
	t.f("struct %s_element *e = ROOM(%s, slot);", ti.c, ti.c)
	t.f("if (%s) {", ti.spec.equal())
	g.takeBetter(ti, take)
	t.f("} else if (e->next != NO_SLOT) {")
	t.f("from = i;")
	t.f("break;")
	t.f("}")
	t.f("}")
}

// tryMask writes what is done with each mask up to the slot of the first element that may be the packet's.
func (g *gen) tryMask(ti *tableInfo, masks string) {
	s, t := ti.spec, &g.funcs
	t.f("const struct %s_mask *m = &%s[i];", ti.c, masks)
	t.f("if (m->best <= least)")
	t.f("\tbreak;")
	var sum []string
	for at := 0; at < s.Key.Size; at += 8 {
		word := fmt.Sprintf("u%d", 8*min(8, s.Key.Size-at))
		t.f("%s w%d = *(const %s *)((const u8 *)key + %d) & *(const %s *)((const u8 *)&m->key + %d);", word, at/8, word, at, word, at)
		sum = append(sum, fmt.Sprintf("w%d * %#xULL", at/8, keyMultiplier(at/8)))
	}
	t.f("u64 h = %s;", strings.Join(sum, " + "))
	t.f("SHIFT_RIGHT(h, m->shift);")
	t.f("u64 at = m->level + (h >> %d);", filterBits)
	t.f("if (!IN_ARRAY(at, %d))", 2<<s.IndexBits)
	t.f("\tcontinue;")
	t.f("u64 filter = index[%d + at], bit = filter;", s.IndexAt)
	t.f("SHIFT_RIGHT(bit, h); /* by its last six bits */")
	t.f("if (!(bit & 1))")
	t.f("\tcontinue;")
	t.f("h >>= 6;")
	t.f("SHIFT_RIGHT(filter, h);")
	t.f("if (!(filter & 1))")
	t.f("\tcontinue;")
	t.f("u32 slot = *((const u32 *)ROOM(tuples, %d) + %d + at);", g.indexWords, s.IndexAt)
}

// takeBetter writes what to do with the element e of the packet.
func (g *gen) takeBetter(ti *tableInfo, take []string) {
	t := &g.funcs
	t.f("struct %s_value *v = &e->value;", ti.c)
	t.f("if (v->priority >= least) {")
	for _, x := range take {
		t.f("%s", x)
	}
	t.f("least = v->priority + 1;")
	t.f("}")
}
