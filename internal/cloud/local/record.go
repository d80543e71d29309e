package local

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/catena-nfv/catena/internal/service"
)

// record is what the driver remembers of one object.
type record struct {
	Owner   service.Owner
	Kind    service.Kind
	Name    string
	Status  service.Status
	Message string `json:",omitempty"`
	// Digest tells whether the object exists as asked: a hash of its
	// specification and, for an instance, of the command that runs it.
	Digest string `json:",omitempty"`
	// Port is set for ports.
	Port *service.Port `json:",omitempty"`
	// Ports of an instance in the order of their interfaces.
	Ports []service.Port `json:",omitempty"`
	// Program is false for an instance that has no process (a firewall).
	Program bool     `json:",omitempty"`
	Process *process `json:",omitempty"`
}

// id is the driver's own id of the object.
func (r record) id(n names) string {
	switch r.Kind {
	case service.KindPort:
		return n.link(r.Owner, r.Name)
	case service.KindServer, service.KindFunction:
		return n.netns(r.Owner, r.Name)
	}
	return n.instance + "/" + r.Owner.String() + "/" + r.Name
}

// records is a folder of records: PROJECT/SERVICE/KIND.NAME.json. Files are
// written in scratch, on the same file system, which is emptied at every start:
// a driver that is killed leaves no half-written file among the records.
type records struct{ dir, scratch string }

func (s records) ownerDir(o service.Owner) string {
	return filepath.Join(s.dir, plain(o.Project), plain(o.Service))
}

func (s records) file(o service.Owner, kind service.Kind, name string) string {
	return filepath.Join(s.ownerDir(o), plain(string(kind))+"."+plain(name)+".json")
}

// put writes the record whole or not at all.
func (s records) put(r record) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	return writeFile(s.scratch, s.file(r.Owner, r.Kind, r.Name), append(data, '\n'))
}

// get returns ok false when there is no such record.
func (s records) get(o service.Owner, kind service.Kind, name string) (r record, ok bool, err error) {
	data, err := os.ReadFile(s.file(o, kind, name))
	if errors.Is(err, fs.ErrNotExist) {
		return record{}, false, nil
	}
	if err != nil {
		return record{}, false, fmt.Errorf("record: %w", err)
	}
	return parseRecord(o, kind, name, data), true, nil
}

// parseRecord reads a record. Of one that cannot be read the file's name is known,
// which is enough to report, delete and make the object again.
func parseRecord(o service.Owner, kind service.Kind, name string, data []byte) record {
	var r record
	err := json.Unmarshal(data, &r)
	if err == nil && (r.Owner != o || r.Kind != kind || r.Name != name) {
		err = fmt.Errorf("it is that of %s %q of %s", r.Kind, r.Name, r.Owner)
	}
	if err != nil {
		return record{Owner: o, Kind: kind, Name: name, Status: service.StatusError, Message: fmt.Sprintf("its record cannot be read: %v", err)}
	}
	return r
}

// objectOf reads the kind and name back from a record's file name.
func objectOf(file string) (kind service.Kind, name string, ok bool) {
	k, n, dot := strings.Cut(strings.TrimSuffix(file, ".json"), ".")
	kindText, err1 := url.PathUnescape(k)
	name, err2 := url.PathUnescape(n)
	return service.Kind(kindText), name, dot && err1 == nil && err2 == nil && strings.HasSuffix(file, ".json")
}

// delete removes the record, and the owner's folders when they are empty.
func (s records) delete(o service.Owner, kind service.Kind, name string) error {
	if err := os.Remove(s.file(o, kind, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("record: %w", err)
	}
	// Both fail when something is left inside, which is what is wanted.
	if os.Remove(s.ownerDir(o)) == nil {
		_ = os.Remove(filepath.Dir(s.ownerDir(o)))
	}
	return nil
}

// list returns an owner's records, sorted by kind and name.
func (s records) list(o service.Owner) ([]record, error) {
	entries, err := os.ReadDir(s.ownerDir(o))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("records of %s: %w", o, err)
	}
	var all []record
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(s.ownerDir(o), e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("records of %s: %w", o, err)
		}
		kind, name, ok := objectOf(e.Name())
		if !ok {
			return nil, fmt.Errorf("records of %s: %s is no record; remove it", o, e.Name())
		}
		all = append(all, parseRecord(o, kind, name, data))
	}
	sort.Slice(all, func(i, j int) bool {
		if all[i].Kind != all[j].Kind {
			return all[i].Kind < all[j].Kind
		}
		return all[i].Name < all[j].Name
	})
	return all, nil
}

// owners lists everyone who has records, sorted.
func (s records) owners() ([]service.Owner, error) {
	dirs, err := filepath.Glob(filepath.Join(s.dir, "*", "*"))
	if err != nil {
		return nil, fmt.Errorf("records: %w", err)
	}
	var owners []service.Owner
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.json"))
		if err != nil || len(files) == 0 {
			continue
		}
		project, err1 := url.PathUnescape(filepath.Base(filepath.Dir(dir)))
		name, err2 := url.PathUnescape(filepath.Base(dir))
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("records: %s: %w", dir, err)
		}
		owners = append(owners, service.Owner{Project: project, Service: name})
	}
	sort.Slice(owners, func(i, j int) bool { return owners[i].String() < owners[j].String() })
	return owners, nil
}

// digest is a hash of any value that JSON can hold.
func digest(values ...any) (string, error) {
	data, err := json.Marshal(values)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8]), nil
}

// writeFile replaces a file of the state directory at once, with the help of the
// folder scratch. Nothing is synced to disk: what the records describe does not
// survive a power failure either.
func writeFile(scratch, name string, data []byte) error {
	tmp, err := os.CreateTemp(scratch, "")
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	for attempt := 0; err == nil; attempt++ {
		if err = os.MkdirAll(filepath.Dir(name), 0o700); err == nil {
			err = os.Rename(tmp.Name(), name)
		}
		if err == nil {
			return nil
		}
		// Deleting the last record of an owner removes the folder and the one above,
		// perhaps right now: between two steps of either call.
		if (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist)) && attempt < 100 {
			err = nil
		}
	}
	os.Remove(tmp.Name())
	return err
}
