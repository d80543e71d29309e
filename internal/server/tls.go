package server

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"

	"github.com/catena-nfv/catena/internal/service"
)

// TLSFiles name the server's certificate and key, in PEM form. With ClientCA, clients
// need a certificate that one of its authorities signed. The files are read again
// when they change.
type TLSFiles struct {
	Cert, Key string
	ClientCA  string
}

func (f TLSFiles) empty() bool { return f == TLSFiles{} }

// certificates are the files' contents, as they were last good.
type certificates struct {
	files TLSFiles
	log   *slog.Logger

	mu      sync.Mutex
	config  *tls.Config
	version string // of the files
}

// loadCertificates reads the files.
func loadCertificates(files TLSFiles, log *slog.Logger) (*certificates, error) {
	if files.Cert == "" || files.Key == "" {
		return nil, errors.New("TLS: a certificate and its key are needed, both")
	}
	c := &certificates{files: files, log: log}
	version, err := c.look()
	if err != nil {
		return nil, err
	}
	if c.config, err = c.read(); err != nil {
		return nil, err
	}
	c.version = version
	return c, nil
}

// look tells the files' version.
func (c *certificates) look() (string, error) {
	var version []string
	for _, name := range []string{c.files.Cert, c.files.Key, c.files.ClientCA} {
		if name == "" {
			continue
		}
		fi, err := os.Stat(name)
		if err != nil {
			return "", fmt.Errorf("TLS: %w", err)
		}
		version = append(version, fmt.Sprint(fi.Size(), fi.ModTime().UnixNano()))
	}
	return strings.Join(version, " "), nil
}

func (c *certificates) read() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(c.files.Cert, c.files.Key)
	if err != nil {
		return nil, fmt.Errorf("TLS: %s, %s: %w", c.files.Cert, c.files.Key, err)
	}
	cfg := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	if c.files.ClientCA != "" {
		pem, err := os.ReadFile(c.files.ClientCA)
		if err != nil {
			return nil, fmt.Errorf("TLS: %w", err)
		}
		cfg.ClientCAs, cfg.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		if !cfg.ClientCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("TLS: %s has no certificate in PEM form", c.files.ClientCA)
		}
	}
	return cfg, nil
}

// current gives the configuration for one connection. New files that cannot be used,
// perhaps since only one of them was replaced so far, leave the old ones in force.
func (c *certificates) current() *tls.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	version, err := c.look()
	if err == nil && version == c.version {
		return c.config
	}
	var next *tls.Config
	if err == nil {
		next, err = c.read()
	}
	if err != nil {
		c.log.Warn("the certificates cannot be read again; the old ones stay", "error", err)
		return c.config
	}
	c.log.Info("new certificates", "cert", c.files.Cert)
	c.config, c.version = next, version
	return next
}

// serverConfig asks for the configuration of each connection.
func (c *certificates) serverConfig() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.current(), nil },
	}
}

// handshakeTimeout bounds how long a client may take to begin.
const handshakeTimeout = 10 * time.Second

// mixed are the gRPC server's credentials: TLS on TCP, and none where nobody listens,
// on the unix socket and within the process.
type mixed struct {
	credentials.TransportCredentials // TLS
}

func (m mixed) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	if c.LocalAddr().Network() != "tcp" {
		return c, nil, nil
	}
	_ = c.SetDeadline(time.Now().Add(handshakeTimeout))
	conn, info, err := m.TransportCredentials.ServerHandshake(c)
	if err == nil {
		_ = c.SetDeadline(time.Time{})
	}
	return conn, info, err
}

func (m mixed) Clone() credentials.TransportCredentials {
	return mixed{m.TransportCredentials.Clone()}
}

// AdminUnit is the organizational unit (OU) of certificates whose holders are admins.
const AdminUnit = "catena-admin"

// ofCertificate tells whom a verified client certificate stands for: an admin, by its
// organizational unit, or the projects that its organizations (O) name. Of others it
// only lets the connection be made: they need a token.
func ofCertificate(state *tls.ConnectionState) (Identity, bool) {
	if state == nil || len(state.VerifiedChains) == 0 {
		return Identity{}, false
	}
	subject := state.PeerCertificates[0].Subject
	if slices.Contains(subject.OrganizationalUnit, AdminUnit) {
		return Identity{Admin: true}, true
	}
	projects := slices.DeleteFunc(slices.Clone(subject.Organization), func(o string) bool { return !service.IsName(o) })
	return Identity{Projects: projects}, len(projects) > 0
}
