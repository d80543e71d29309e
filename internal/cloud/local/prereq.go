package local

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/features"
	"golang.org/x/sys/unix"
)

// MissingError lists what this machine lacks for running instances and a switch.
type MissingError struct {
	// Needs are the missing things, each with what to do about it.
	Needs []string
	// Packages are the Debian packages that would bring missing programs.
	Packages []string
}

func (e *MissingError) Error() string {
	needs := append([]string(nil), e.Needs...)
	if len(e.Packages) > 0 {
		needs = append(needs, "missing programs (apt-get install "+strings.Join(e.Packages, " ")+")")
	}
	return "cannot run here: " + strings.Join(needs, "; ")
}

// CheckMachine tells whether this machine has what it takes: root's
// capabilities, BPF with a file system for pinned objects, and the programs. The
// error is a *MissingError that names everything missing in one line.
func CheckMachine(programs ...string) error {
	missing := &MissingError{}
	if need := missingPrivilege(); need != "" {
		missing.Needs = append(missing.Needs, need)
	} else if need := missingBPF(); need != "" {
		// Only root can tell.
		missing.Needs = append(missing.Needs, need)
	}
	for _, program := range programs {
		if _, err := findProgram(program); err == nil {
			continue
		}
		if pkg := debianPackage(program); pkg != "" {
			missing.Packages = append(missing.Packages, pkg)
		} else {
			missing.Needs = append(missing.Needs, fmt.Sprintf("the program %q", program))
		}
	}
	if len(missing.Needs) == 0 && len(missing.Packages) == 0 {
		return nil
	}
	return missing
}

// Programs lists what functions of all kinds and the switch's compiler need.
func Programs() []string { return []string{"clang", "dnsmasq", "haproxy", "nft"} }

func missingPrivilege() string {
	if os.Geteuid() != 0 {
		return "root is needed (run it with sudo)"
	}
	var data [2]unix.CapUserData
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&header, &data[0]); err != nil {
		return fmt.Sprintf("capabilities cannot be read: %v", err)
	}
	var lacking []string
	for _, c := range []struct {
		bit  uint
		name string
	}{{unix.CAP_NET_ADMIN, "CAP_NET_ADMIN"}, {unix.CAP_SYS_ADMIN, "CAP_SYS_ADMIN"}} {
		if data[c.bit/32].Effective&(1<<(c.bit%32)) == 0 {
			lacking = append(lacking, c.name)
		}
	}
	if len(lacking) > 0 {
		return "root lacks " + strings.Join(lacking, " and ") + " (a container needs --privileged)"
	}
	return ""
}

func missingBPF() string {
	for _, kind := range []ebpf.ProgramType{ebpf.SchedCLS, ebpf.XDP} {
		err := features.HaveProgramType(kind)
		if errors.Is(err, ebpf.ErrNotSupported) {
			return fmt.Sprintf("the kernel has no BPF programs of type %s", kind)
		}
		if err != nil {
			return fmt.Sprintf("BPF programs cannot be loaded: %v", err)
		}
	}
	known, err := os.ReadFile("/proc/filesystems")
	if err != nil {
		return fmt.Sprintf("file systems cannot be listed: %v", err)
	}
	for _, line := range strings.Split(string(known), "\n") {
		if fields := strings.Fields(line); len(fields) > 0 && fields[len(fields)-1] == "bpf" {
			return ""
		}
	}
	return "the kernel has no BPF file system"
}
