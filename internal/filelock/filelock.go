// Package filelock makes one process at a time the owner of a folder: an exclusive
// flock(2) on a file in it, which ends with the process however that ends.
package filelock

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// ErrHeld says that another process has the lock.
var ErrHeld = errors.New("held by another process")

// Patience is how long Take waits. A process that was killed while it started
// another leaves the lock to the child until that has become its own program: the
// descriptor is closed on exec, not on fork.
const Patience = time.Second

// Take locks the file, which it makes if need be. Closing the file gives it back.
func Take(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	deadline := time.Now().Add(Patience)
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return f, nil
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			f.Close()
			return nil, err
		case time.Now().After(deadline):
			f.Close()
			return nil, ErrHeld
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Held tells whether some process has the lock at this moment.
func Held(name string) (bool, error) {
	f, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}
