package server

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/protobuf/encoding/protodelim"
)

// journal keeps on disk what the control plane has written: a configuration and the
// updates since, so that a server that starts again, after a crash or a reboot, has
// them. It is a file of length-delimited messages: a ForwardingPipelineConfig and
// then Updates. It is not synced to the disk: a crash of the process loses nothing, a
// crash of the machine at most the end.
//
// Counters and registers are not in it: the data plane changes them, too, and keeps
// them itself.
type journal struct {
	path    string // "": nothing is kept
	f       *os.File
	records int // updates in the file
}

// load reads the journal. fpc is nil when there is none. A record that was cut off
// by a crash ends it.
func (j *journal) load() (fpc *v1.ForwardingPipelineConfig, updates []*v1.Update, err error) {
	if j.path == "" {
		return nil, nil, nil
	}
	f, err := os.Open(j.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	r := bufio.NewReader(f)
	opts := protodelim.UnmarshalOptions{MaxSize: -1}
	fpc = &v1.ForwardingPipelineConfig{}
	if err := opts.UnmarshalFrom(r, fpc); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", j.path, err)
	}
	for {
		u := &v1.Update{}
		err := opts.UnmarshalFrom(r, u)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return fpc, updates, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", j.path, err)
		}
		updates = append(updates, u)
	}
}

// restart replaces the journal by a configuration and the updates that lead to the
// present state.
func (j *journal) restart(fpc *v1.ForwardingPipelineConfig, updates []*v1.Update) error {
	if j.path == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(j.path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(j.path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	_, err = protodelim.MarshalTo(w, fpc)
	for _, u := range updates {
		if err == nil {
			_, err = protodelim.MarshalTo(w, u)
		}
	}
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = os.Rename(f.Name(), j.path)
	}
	if err != nil {
		return errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	j.close()
	j.f, j.records = f, len(updates)
	return nil
}

// append adds updates that were done.
func (j *journal) append(updates []*v1.Update) error {
	if j.f == nil || len(updates) == 0 {
		return nil
	}
	w := bufio.NewWriter(j.f)
	for _, u := range updates {
		switch u.GetEntity().GetEntity().(type) {
		case *v1.Entity_CounterEntry, *v1.Entity_DirectCounterEntry, *v1.Entity_RegisterEntry:
			continue
		}
		if _, err := protodelim.MarshalTo(w, u); err != nil {
			return err
		}
		j.records++
	}
	return w.Flush()
}

func (j *journal) close() {
	if j.f != nil {
		j.f.Close() // all that matters was written before
		j.f = nil
	}
}

// slack is by how many records a journal may exceed twice the entities that there
// were when it was restarted.
const slack = 10000

// snapshot returns updates that make an empty program hold what this one holds,
// counters and registers left out but for those of table entries.
func (e *entities) snapshot() ([]*v1.Update, error) {
	var out []*v1.Update
	add := func(typ v1.Update_Type, found []*v1.Entity, err error) error {
		for _, x := range found {
			out = append(out, &v1.Update{Type: typ, Entity: x})
		}
		return err
	}
	members, err := e.readMembers(&v1.ActionProfileMember{})
	if err := add(v1.Update_INSERT, members, err); err != nil {
		return nil, err
	}
	groups, err := e.readGroups(&v1.ActionProfileGroup{})
	if err := add(v1.Update_INSERT, groups, err); err != nil {
		return nil, err
	}
	for _, t := range e.schema.Tables.All() {
		if _, changed := e.defaults[t.Name()]; changed {
			def, err := e.readOneTable(t, &v1.TableEntry{IsDefaultAction: true})
			if err := add(v1.Update_MODIFY, def, err); err != nil {
				return nil, err
			}
		}
		entries, err := e.readOneTable(t, &v1.TableEntry{CounterData: &v1.CounterData{}, MeterConfig: &v1.MeterConfig{}})
		if err != nil {
			return nil, err
		}
		for _, x := range entries {
			if !x.GetTableEntry().GetIsConst() {
				out = append(out, &v1.Update{Type: v1.Update_INSERT, Entity: x})
			}
		}
	}
	multicast, err := e.readMulticast(&v1.MulticastGroupEntry{})
	if err := add(v1.Update_INSERT, multicast, err); err != nil {
		return nil, err
	}
	clones, err := e.readClones(&v1.CloneSessionEntry{})
	if err := add(v1.Update_INSERT, clones, err); err != nil {
		return nil, err
	}
	sets, err := e.readValueSet(&v1.ValueSetEntry{})
	if err := add(v1.Update_MODIFY, sets, err); err != nil {
		return nil, err
	}
	meters, err := e.readMeter(&v1.MeterEntry{})
	if err != nil {
		return nil, err
	}
	for _, m := range meters {
		if m.GetMeterEntry().GetConfig() != nil {
			out = append(out, &v1.Update{Type: v1.Update_MODIFY, Entity: m})
		}
	}
	return out, nil
}

// replay does the updates of a journal on a program that was just loaded. The
// entries that the program brings along may have been changed or deleted since: the
// journal has those that are left.
func (s *Server) replay(e *entities, updates []*v1.Update) (failed int) {
	for _, t := range e.schema.Tables.All() {
		if !t.GetHasInitialEntries() || t.GetIsConstTable() {
			continue
		}
		entries, _, err := e.pipeline.ReadEntries(t.Name())
		for _, x := range entries {
			if !x.Const {
				err = errors.Join(err, e.deleteEntry(t, x))
			}
		}
		if err != nil {
			s.cfg.Log.Warn("remove the program's own entries", "table", t.Name(), "error", err)
		}
	}
	for _, u := range updates {
		if err := s.apply(e, u); err != nil {
			failed++
			s.cfg.Log.Warn("replay an update", "update", u.String(), "error", err)
		}
	}
	return failed
}

// keep writes the whole state to the journal. The caller holds s.state.
func (s *Server) keep() {
	if s.journal.path == "" || s.running == nil {
		return
	}
	updates, err := s.running.snapshot()
	if err == nil {
		var digests []*v1.Entity
		digests, err = s.digests.read(s.running.schema, &v1.DigestEntry{})
		for _, d := range digests {
			updates = append(updates, &v1.Update{Type: v1.Update_INSERT, Entity: d})
		}
	}
	if err == nil {
		err = s.journal.restart(s.running.config, updates)
	}
	if err != nil {
		s.cfg.Log.Error("the program's entries will not be found after a restart", "error", err)
		return
	}
	s.live = len(updates)
}

// note adds updates that were done to the journal. The caller holds s.state.
func (s *Server) note(updates []*v1.Update) {
	if s.saved != nil {
		return // they are kept when the saved program is committed
	}
	if err := s.journal.append(updates); err != nil {
		s.cfg.Log.Error("writes will not be found after a restart", "error", err)
		return
	}
	if s.journal.records > 2*s.live+slack {
		s.keep()
	}
}
