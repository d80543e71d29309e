package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
)

// readState returns the remembered ports by key; none when there is no file.
func readState(file string) (map[string]Status, error) {
	ports := map[string]Status{}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return ports, nil
	}
	if err != nil {
		return nil, err
	}
	var list []Status
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("state file %s cannot be read: %w; remove it, and the controller has the ports attached again", file, err)
	}
	for _, s := range list {
		ports[s.key()] = s
	}
	return ports, nil
}

// writeState replaces the file at once; without ports it is removed.
func writeState(file string, ports map[string]Status) error {
	if len(ports) == 0 {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	list := make([]Status, 0, len(ports))
	for _, s := range ports {
		list = append(list, s)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Number < list[j].Number })
	data, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	// Only one writer at a time (the agent's mutex), so the name can be fixed.
	next := file + ".new"
	if err := os.WriteFile(next, append(data, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(next, file)
}
