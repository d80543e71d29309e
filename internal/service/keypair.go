package service

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// KeyPair is a public SSH key that servers of the service are started with, by its
// name in Server.Key. It is made, and deleted, with the service.
type KeyPair struct {
	Name      string
	PublicKey string // as in a file id_ed25519.pub
}

// KeyPair by name, or nil.
func (s *Service) KeyPair(name string) *KeyPair {
	for i := range s.KeyPairs {
		if s.KeyPairs[i].Name == name {
			return &s.KeyPairs[i]
		}
	}
	return nil
}

// checkPublicKey reads a key in the form "TYPE BASE64 [COMMENT]" (RFC 4253, section
// 6.6: the data begin with the type's length and name).
func checkPublicKey(s string) error {
	fields := strings.Fields(s)
	if len(fields) < 2 || strings.ContainsAny(strings.TrimSpace(s), "\r\n") {
		return errors.New("it is not one line like \"ssh-ed25519 AAAA… you@host\"")
	}
	data, err := base64.StdEncoding.DecodeString(fields[1])
	if err != nil {
		return fmt.Errorf("what follows %q is not in base64", fields[0])
	}
	if len(data) < 4 || uint64(binary.BigEndian.Uint32(data)) > uint64(len(data)-4) {
		return errors.New("it is cut off")
	}
	if kind := string(data[4 : 4+binary.BigEndian.Uint32(data)]); kind != fields[0] {
		return fmt.Errorf("it says that it is of type %q, but its data are of another", fields[0])
	}
	return nil
}

// keyPairsOK checks the keys. A server may also name a keypair that its user has in
// the cloud, so names need not be known.
func (v *validator) keyPairsOK() {
	for i, k := range v.svc.KeyPairs {
		p := at("keypairs", i)
		if k.PublicKey == "" {
			v.add(p, CodeMissing, "keypair %q has no public key; add \"public_key: ssh-ed25519 …\"", k.Name)
		} else if err := checkPublicKey(k.PublicKey); err != nil {
			v.add(p+".public_key", CodeValue, "keypair %q: the public key cannot be read: %v", k.Name, err)
		}
	}
	for i, r := range v.svc.Servers {
		if r.Key != "" && !isForeignName(r.Key) {
			v.add(at("servers", i)+".key", CodeValue, "server %q: %q cannot be the name of a keypair", r.Name, r.Key)
		}
	}
}

// isForeignName reports whether s may name an object that the cloud has without us.
func isForeignName(s string) bool {
	return s == strings.TrimSpace(s) && s != "" && len(s) <= 255 && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}
