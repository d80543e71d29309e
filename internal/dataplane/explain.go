package dataplane

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	cebpf "github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/catena-nfv/catena/internal/p4/backend/ebpf"
)

// refuses tells whether a load failed because of the program: another way may help. Everything else has to do with
// what the process may do, or with memory.
func refuses(err error) bool {
	var ve *cebpf.VerifierError
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOMEM) || errors.Is(err, unix.EAGAIN) {
		return false
	}
	// Where the kernel gives up with EFAULT, the library keeps what it says for itself.
	return errors.As(err, &ve) || errors.Is(err, unix.EFAULT)
}

// explain finds out why no way of a program is taken, from the last one, which asks the least of the kernel. It is
// compiled once more, with its lines as they stand, so that what clang and the verifier say can be told by place.
func (o *Object) explain(ctx context.Context, t ebpf.Target, refused *Refusal) error {
	w := ways[len(ways)-1]
	text := w.source(o.Spec)
	elf, err := compile(ctx, o.opts.clang(), unmarked(text), flags(t, o.opts.Test, w.inMap), o.opts.CacheDir)
	var r *Refusal
	if err == nil {
		r, err = refusalOf(elf, o.Spec)
	}
	switch {
	case errors.As(err, &r), r != nil:
	case err != nil:
		return fmt.Errorf("program %q: %s: %w", o.Spec.Name, t, err)
	default: // it loads if its lines are named otherwise
		r = refused
	}
	r.Program, r.Target = o.Spec.Name, t
	if r.Limit != nil && r.line == 0 && len(r.Log) == 0 && strings.Contains(text, ebpf.ParserLoop) {
		r.name = "parse" // nothing was said, but of all loops only the parser's are followed round by round
	}
	r.place(text)
	if o.opts.CacheDir != "" && len(r.Log) > 0 {
		sum := sha256.Sum256([]byte(string(t) + text))
		file := filepath.Join(o.opts.CacheDir, hex.EncodeToString(sum[:16])+".log")
		if writeAtomically(file, []byte(strings.Join(r.Log, "\n")+"\n")) == nil {
			r.LogFile = file
		}
	}
	return r
}

// refusalOf loads an object for what the verifier says of it; nil if it takes it.
func refusalOf(elf []byte, of *ebpf.Spec) (*Refusal, error) {
	var r *Refusal
	// The first level names functions, which is enough if there is too much of something; the other all that was
	// looked at.
	for _, level := range []cebpf.LogLevel{cebpf.LogLevelStats, cebpf.LogLevelBranch} {
		spec, err := collection(elf, of)
		if err != nil {
			return nil, err
		}
		coll, err := cebpf.NewCollectionWithOptions(spec, cebpf.CollectionOptions{Programs: cebpf.ProgramOptions{LogLevel: level, LogSizeStart: 1 << 20}})
		if err == nil {
			coll.Close()
			return nil, nil
		}
		var ve *cebpf.VerifierError
		switch {
		case !refuses(err):
			return nil, err
		case errors.As(err, &ve):
			r = refusedByVerifier(ve.Log)
		default:
			r = beyond(ebpf.LimitInstructions, "there are too many ways through this")
			r.name = ebpf.ProgramName
		}
		if r.Limit != nil {
			break
		}
	}
	return r, nil
}
