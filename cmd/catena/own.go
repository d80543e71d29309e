package main

import (
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Own refuses when a controller with another state directory answers at the platform's
// socket: it would be mistaken for this one's.
func (p *platform) Own() error {
	pid := listener(p.paths.Socket())
	own, err := p.runningPID()
	if err != nil || pid == 0 || pid == own || pid == os.Getpid() {
		return err
	}
	return refuse("the controller at %s (process %d) is not the one of %s: end it where it was started (`make openstack-down` if that was `make openstack`; `catena down` with its CATENA_STATE), or set CATENA_RUN to another folder",
		p.paths.Socket(), pid, p.paths.State)
}

// listener returns the process that listens at a unix socket, 0 if none does.
func listener(path string) int {
	c, err := net.DialTimeout("unix", path, time.Second)
	if err != nil {
		return 0
	}
	defer c.Close()
	raw, err := c.(*net.UnixConn).SyscallConn()
	if err != nil {
		return 0
	}
	pid := 0
	err = raw.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			pid = int(cred.Pid)
		}
	})
	if err != nil {
		return 0
	}
	return pid
}
