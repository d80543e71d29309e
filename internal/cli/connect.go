package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	catenav1 "github.com/catena-nfv/catena/api/catena/v1"
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
}

func (c *connection) flags(cmd *cobra.Command) {
	p := DefaultPaths()
	address := os.Getenv("CATENA_ADDRESS")
	if address == "" {
		address = "unix://" + p.Socket()
	}
	f := cmd.Flags()
	f.StringVar(&c.address, "address", address, "address of the controller: unix:///PATH or HOST:PORT (CATENA_ADDRESS)")
	f.StringVar(&c.tokenFile, "token-file", p.TokenFile(), "file with the token for HOST:PORT addresses")
	f.StringVarP(&c.project, "project", "p", "default", "project that the objects belong to")
}

// bearer puts the token on every call.
type bearer string

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	if b == "" {
		return nil, nil
	}
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

// RequireTransportSecurity is false: tokens travel over loopback and unix sockets.
func (bearer) RequireTransportSecurity() bool { return false }

// clients are the services of the API on one connection.
type clients struct {
	conn         *grpc.ClientConn
	orchestrator catenav1.OrchestratorClient
	chains       catenav1.ChainsClient
	rules        catenav1.RulesClient
	sw           catenav1.SwitchClient
	platform     catenav1.PlatformClient
}

func (c *connection) dial() (*clients, error) {
	token, err := os.ReadFile(c.tokenFile)
	if err != nil && !os.IsNotExist(err) && !os.IsPermission(err) {
		return nil, fmt.Errorf("token: %w", err)
	}
	conn, err := grpc.NewClient(c.address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithPerRPCCredentials(bearer(strings.TrimSpace(string(token)))))
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
		c, err := conn.dial()
		if err != nil {
			return err
		}
		defer c.close()
		return run(cmd, c, args)
	}
}
