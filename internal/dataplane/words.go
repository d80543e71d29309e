package dataplane

import (
	"encoding/binary"
	"fmt"

	cebpf "github.com/cilium/ebpf"
)

// wordMap is an array of words (u64) in the memory of a map with one element, as tables.Map: its words can be
// written one by one, while packets read them.
type wordMap struct{ memory *cebpf.Memory }

func (m wordMap) at(key any) (int64, error) {
	k, ok := key.([]byte)
	if !ok || len(k) != 4 {
		return 0, fmt.Errorf("a word's number is 4 bytes, not %v", key)
	}
	return 8 * int64(binary.NativeEndian.Uint32(k)), nil
}

// Put writes a word: value is its bytes.
func (m wordMap) Put(key, value any) error {
	v, ok := value.([]byte)
	if !ok || len(v) != 8 {
		return fmt.Errorf("a word is 8 bytes, not %v", value)
	}
	at, err := m.at(key)
	if err == nil {
		_, err = m.memory.WriteAt(v, at)
	}
	return err
}

// Delete makes a word zero.
func (m wordMap) Delete(key any) error { return m.Put(key, make([]byte, 8)) }

// Lookup reads a word to a *[]byte.
func (m wordMap) Lookup(key, valueOut any) error {
	out, ok := valueOut.(*[]byte)
	if !ok {
		return fmt.Errorf("a word cannot be read to %T", valueOut)
	}
	at, err := m.at(key)
	if err != nil {
		return err
	}
	*out = make([]byte, 8)
	_, err = m.memory.ReadAt(*out, at)
	return err
}
