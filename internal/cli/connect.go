package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	catenav1 "github.com/catena-nfv/catena/api/catena/v1"
	"github.com/catena-nfv/catena/internal/keystone"
)

// Paths are the places of a platform on this machine.
type Paths struct {
	State string // all that outlives the processes
	Run   string // sockets, the token, process ids
}

// DefaultPaths are the usual places; the environment's CATENA_STATE and CATENA_RUN
// take precedence.
func DefaultPaths() Paths {
	p := Paths{State: "/var/lib/catena", Run: "/run/catena"}
	if s := os.Getenv("CATENA_STATE"); s != "" {
		p.State = s
	}
	if s := os.Getenv("CATENA_RUN"); s != "" {
		p.Run = s
	}
	return p
}

// Socket is the controller's unix socket.
func (p Paths) Socket() string { return filepath.Join(p.Run, "catena.sock") }

// TokenFile holds the token that loopback clients present.
func (p Paths) TokenFile() string { return filepath.Join(p.Run, "token") }

// connection is what the flags say about reaching the controller.
type connection struct {
	address   string
	tokenFile string
	project   string
	osCloud   string
	tls       tlsFlags
	set       func(flag string) bool // whether a flag was given
}

// tlsFlags are the files with which a connection is encrypted.
type tlsFlags struct{ ca, cert, key string }

func (c *connection) flags(cmd *cobra.Command) {
	p := DefaultPaths()
	address := os.Getenv("CATENA_ADDRESS")
	if address == "" {
		address = "unix://" + p.Socket()
	}
	f := cmd.Flags()
	f.StringVar(&c.address, "address", address, "address of the controller: unix:///PATH or HOST:PORT (CATENA_ADDRESS)")
	f.StringVar(&c.tokenFile, "token-file", p.TokenFile(), "file with the token for HOST:PORT addresses")
	f.StringVarP(&c.project, "project", "p", "default", "project that the objects belong to; with OpenStack credentials theirs")
	f.StringVar(&c.osCloud, "os-cloud", "", "entry of clouds.yaml whose token to present; for HOST:PORT addresses OS_CLOUD and the other OS_ variables count, too")
	f.StringVar(&c.tls.ca, "tls-ca", os.Getenv("CATENA_TLS_CA"), "authority that signed the controller's certificate, in PEM form; default for other machines: the system's (CATENA_TLS_CA)")
	f.StringVar(&c.tls.cert, "tls-cert", os.Getenv("CATENA_TLS_CLIENT_CERT"), "certificate to present to the controller (CATENA_TLS_CLIENT_CERT)")
	f.StringVar(&c.tls.key, "tls-key", os.Getenv("CATENA_TLS_CLIENT_KEY"), "its key (CATENA_TLS_CLIENT_KEY)")
	c.set = func(flag string) bool { return f.Changed(flag) }
}

// header puts the token on every call.
type header struct {
	name, value string // no value: no header
	encrypted   bool   // it must not be sent in the clear
}

func (h header) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	if h.value == "" {
		return nil, nil
	}
	return map[string]string{h.name: h.value}, nil
}

func (h header) RequireTransportSecurity() bool { return h.encrypted }

// local tells whether an address is on this machine, where nobody else listens.
func (c *connection) local() bool {
	if c.unix() {
		return true
	}
	host, _, err := net.SplitHostPort(c.address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

func (c *connection) unix() bool { return strings.HasPrefix(c.address, "unix:") }

// token finds the caller's credentials: OpenStack's where they are asked for, else what
// the token file holds.
func (c *connection) token(ctx context.Context) (header, error) {
	byEnvironment := !c.unix() && !c.set("token-file") && (os.Getenv("OS_CLOUD") != "" || os.Getenv("OS_AUTH_URL") != "")
	if c.osCloud != "" || byEnvironment {
		cloud, err := keystone.Credentials(c.osCloud)
		if err != nil {
			return header{}, refuse("%w", err)
		}
		p, err := cloud.Login(ctx, nil)
		if err != nil {
			return header{}, err
		}
		if !c.set("project") {
			c.project = "" // the token's
		}
		return header{"x-auth-token", p.Token(), !c.local()}, nil
	}
	text, err := os.ReadFile(c.tokenFile)
	if err != nil && !os.IsNotExist(err) && !os.IsPermission(err) {
		return header{}, fmt.Errorf("token: %w", err)
	}
	if token := strings.TrimSpace(string(text)); token != "" {
		return header{"authorization", "Bearer " + token, !c.local()}, nil
	}
	return header{}, nil
}

// transport tells how the connection is encrypted: to other machines always.
func (c *connection) transport() (credentials.TransportCredentials, error) {
	if c.unix() || c.tls == (tlsFlags{}) && c.local() {
		return insecure.NewCredentials(), nil
	}
	cfg := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.tls.ca != "" {
		pem, err := os.ReadFile(c.tls.ca)
		if err != nil {
			return nil, refuse("--tls-ca: %w", err)
		}
		cfg.RootCAs = x509.NewCertPool()
		if !cfg.RootCAs.AppendCertsFromPEM(pem) {
			return nil, refuse("--tls-ca: %s has no certificate in PEM form", c.tls.ca)
		}
	}
	if c.tls.cert != "" || c.tls.key != "" {
		pair, err := tls.LoadX509KeyPair(c.tls.cert, c.tls.key)
		if err != nil {
			return nil, refuse("--tls-cert, --tls-key: %w", err)
		}
		cfg.Certificates = []tls.Certificate{pair}
	}
	return credentials.NewTLS(cfg), nil
}

// clients are the services of the API on one connection.
type clients struct {
	conn         *grpc.ClientConn
	orchestrator catenav1.OrchestratorClient
	chains       catenav1.ChainsClient
	rules        catenav1.RulesClient
	sw           catenav1.SwitchClient
	platform     catenav1.PlatformClient
}

func (c *connection) dial(ctx context.Context) (*clients, error) {
	transport, err := c.transport()
	if err != nil {
		return nil, err
	}
	token, err := c.token(ctx)
	if err != nil {
		return nil, err
	}
	conn, err := grpc.NewClient(c.address, grpc.WithTransportCredentials(transport), grpc.WithPerRPCCredentials(token))
	if err != nil {
		return nil, refuse("address %q: %w", c.address, err)
	}
	return newClients(conn), nil
}

func newClients(conn *grpc.ClientConn) *clients {
	return &clients{
		conn:         conn,
		orchestrator: catenav1.NewOrchestratorClient(conn),
		chains:       catenav1.NewChainsClient(conn),
		rules:        catenav1.NewRulesClient(conn),
		sw:           catenav1.NewSwitchClient(conn),
		platform:     catenav1.NewPlatformClient(conn),
	}
}

func (c *clients) close() { c.conn.Close() }

// withClients makes the RunE of a command that calls the controller.
func withClients(conn *connection, run func(cmd *cobra.Command, c *clients, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := conn.dial(cmd.Context())
		if err != nil {
			return err
		}
		defer c.close()
		return run(cmd, c, args)
	}
}
