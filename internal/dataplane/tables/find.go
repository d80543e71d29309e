package tables

import (
	"fmt"

	"github.com/catena-nfv/catena/internal/p4/target"
)

// FindEntry reads one entry: that with the table, matches and priority of key. It
// is what ReadEntries would give of it, without reading all the others.
func (c *Control) FindEntry(key target.Entry) (target.Entry, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, err := lookup(c.tables, "table", key.Table)
	if err != nil {
		return target.Entry{}, err
	}
	if key, err = t.checkMatch(key); err != nil {
		return target.Entry{}, fmt.Errorf("table %q: %w", t.spec.Name, err)
	}
	s := t.entries[entryID(t.spec, key)]
	if s == nil {
		return target.Entry{}, fmt.Errorf("table %q: no such entry: %w", t.spec.Name, target.ErrNotFound)
	}
	e := s.entry
	if t.spec.Counter != "" {
		v, err := c.readCounter(c.counters[t.spec.Counter], int(s.index))
		if err != nil {
			return target.Entry{}, fmt.Errorf("table %q: %w", t.spec.Name, err)
		}
		e.Counter = &v
	}
	return e, nil
}
