package progen

import (
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
)

// Choices is where a generator takes its decisions from.
type Choices struct {
	data []byte
	r    *rand.Rand
}

// Seeded gives the choices of a seed.
func Seeded(seed uint64) *Choices {
	return &Choices{r: rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))}
}

// FromBytes gives the choices that the bytes stand for; behind their end it goes on with
// choices that depend on all of them.
func FromBytes(data []byte) *Choices {
	h := fnv.New64a()
	h.Write(data)
	c := Seeded(h.Sum64())
	c.data = data
	return c
}

// n chooses a number from 0 to k-1.
func (c *Choices) n(k int) int {
	if k <= 1 {
		return 0
	}
	switch {
	case len(c.data) == 0:
		return c.r.IntN(k)
	case k <= 256 || len(c.data) == 1:
		v := int(c.data[0])
		c.data = c.data[1:]
		return v % k
	}
	v := int(binary.BigEndian.Uint16(c.data))
	c.data = c.data[2:]
	return v % k
}

// one is true once in k times.
func (c *Choices) one(k int) bool { return c.n(k) == k-1 }

// between chooses a number from lo to hi.
func (c *Choices) between(lo, hi int) int { return lo + c.n(hi-lo+1) }

func pick[T any](c *Choices, list []T) T { return list[c.n(len(list))] }
