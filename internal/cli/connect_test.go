package cli

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	catenav1 "github.com/catena-nfv/catena/api/catena/v1"
	"github.com/catena-nfv/catena/internal/keystone/keystonetest"
)

// recorder is a controller that remembers what came with the last call.
type recorder struct {
	catenav1.UnimplementedOrchestratorServer
	last    metadata.MD
	project string
}

func (r *recorder) GetService(ctx context.Context, m *catenav1.GetServiceRequest) (*catenav1.ServiceState, error) {
	r.last, _ = metadata.FromIncomingContext(ctx)
	r.project = m.GetProject()
	return &catenav1.ServiceState{}, nil
}

func TestConnection(t *testing.T) {
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "OS_") || strings.HasPrefix(name, "CATENA_") {
			t.Setenv(name, "")
		}
	}
	t.Chdir(t.TempDir())
	k := keystonetest.New()
	k.AddUser("alice", "secret", "shop", "member")
	ks := httptest.NewServer(k)
	t.Cleanup(ks.Close)
	file := func(name, text string) string {
		path, err := filepath.Abs(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	token := file("token", "local-token-0123456789\n")
	file("clouds.yaml", fmt.Sprintf("clouds:\n  mine:\n    auth: {auth_url: %q, username: alice, password: secret, project_name: shop, user_domain_id: default, project_domain_id: default}\n", ks.URL))

	// One controller in the clear, one with TLS.
	rec := &recorder{}
	serve := func(network, address string, opts ...grpc.ServerOption) string {
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		s := grpc.NewServer(opts...)
		catenav1.RegisterOrchestratorServer(s, rec)
		go func() { _ = s.Serve(l) }()
		t.Cleanup(s.Stop)
		return l.Addr().String()
	}
	web := httptest.NewTLSServer(http.NotFoundHandler()) // for its certificate
	t.Cleanup(web.Close)
	ca := file("ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: web.Certificate().Raw})))
	stranger := file("stranger.pem", otherCA(t))
	plain := serve("tcp", "127.0.0.1:0")
	encrypted := serve("tcp", "127.0.0.1:0", grpc.Creds(credentials.NewServerTLSFromCert(&web.TLS.Certificates[0])))
	socket := "unix://" + serve("unix", filepath.Join(filepath.Dir(token), "s"))

	for _, c := range []struct {
		name    string
		env     map[string]string
		args    []string
		header  string // with the beginning of its value
		project string
		fails   string
	}{
		{"token file", nil, []string{"--address", plain, "--token-file", token}, "authorization Bearer local-token", "default", ""},
		{"OS_CLOUD", map[string]string{"OS_CLOUD": "mine"}, []string{"--address", plain}, "x-auth-token gAAAA", "", ""},
		{"openrc", map[string]string{"OS_AUTH_URL": ks.URL, "OS_USERNAME": "alice", "OS_PASSWORD": "secret", "OS_PROJECT_NAME": "shop"}, []string{"--address", plain}, "x-auth-token gAAAA", "", ""},
		{"token file before OS_CLOUD", map[string]string{"OS_CLOUD": "mine"}, []string{"--address", plain, "--token-file", token}, "authorization Bearer local-token", "default", ""},
		{"the socket's owner", map[string]string{"OS_CLOUD": "mine"}, []string{"--address", socket, "--token-file", "none"}, "", "default", ""},
		{"--os-cloud on the socket", nil, []string{"--address", socket, "--os-cloud", "mine"}, "x-auth-token gAAAA", "", ""},
		{"project by hand", nil, []string{"--address", plain, "--os-cloud", "mine", "-p", "other"}, "x-auth-token gAAAA", "other", ""},
		{"TLS", nil, []string{"--address", encrypted, "--tls-ca", ca, "--token-file", token}, "authorization Bearer local-token", "default", ""},
		{"no such cloud", nil, []string{"--address", plain, "--os-cloud", "nowhere"}, "", "", "nowhere"},
		{"wrong password", map[string]string{"OS_AUTH_URL": ks.URL, "OS_USERNAME": "alice", "OS_PASSWORD": "x", "OS_PROJECT_NAME": "shop"}, []string{"--address", plain}, "", "", "refuses the credentials of user alice"},
		{"TLS to a controller without", nil, []string{"--address", plain, "--tls-ca", ca}, "", "", "this address of the controller is not encrypted"},
		{"no TLS to a controller with", nil, []string{"--address", encrypted, "--token-file", token}, "", "", "give --tls-ca FILE"},
		{"another authority", nil, []string{"--address", encrypted, "--tls-ca", stranger, "--token-file", token}, "", "", "the controller's certificate is not taken; name the authority"},
		{"no file", nil, []string{"--address", encrypted, "--tls-ca", "none"}, "", "", "--tls-ca"},
		{"half a pair", nil, []string{"--address", encrypted, "--tls-ca", ca, "--tls-cert", ca}, "", "", "--tls-cert, --tls-key"},
		// To other machines nothing goes in the clear, asked for or not.
		{"far away", nil, []string{"--address", "example.invalid:7650", "--token-file", token}, "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			for k, v := range c.env {
				t.Setenv(k, v)
			}
			var conn connection
			cmd := &cobra.Command{Use: "x", SilenceErrors: true, SilenceUsage: true}
			conn.flags(cmd)
			if c.name == "far away" {
				if err := cmd.ParseFlags(c.args); err != nil {
					t.Fatal(err)
				}
				creds, err := conn.transport()
				if h, e := conn.token(t.Context()); err != nil || e != nil || creds.Info().SecurityProtocol != "tls" || !h.RequireTransportSecurity() {
					t.Errorf("%v, %v: %v with %+v", err, e, creds.Info(), h)
				}
				return
			}
			cmd.RunE = withClients(&conn, func(cmd *cobra.Command, cl *clients, _ []string) error {
				_, err := cl.orchestrator.GetService(cmd.Context(), &catenav1.GetServiceRequest{Project: conn.project, Name: "x"})
				return err
			})
			cmd.SetArgs(c.args)
			*rec = recorder{}
			err := cmd.ExecuteContext(t.Context())
			if c.fails != "" {
				if err == nil || !strings.Contains(Message(err), c.fails) {
					t.Errorf("%v, want %q", err, c.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			name, value, _ := strings.Cut(c.header, " ")
			if got := strings.Join(rec.last.Get(name), ","); name != "" && !strings.HasPrefix(got, value) {
				t.Errorf("%s: %q, want %q", name, got, value)
			}
			if name == "" && len(rec.last.Get("x-auth-token"))+len(rec.last.Get("authorization")) > 0 {
				t.Errorf("sent %v", rec.last)
			}
			if rec.project != c.project {
				t.Errorf("project %q, want %q", rec.project, c.project)
			}
		})
	}
}

// otherCA is a certificate that has signed nothing.
func otherCA(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// TestUnavailable: a controller that cannot reach something is not one that cannot be reached.
func TestUnavailable(t *testing.T) {
	ours, err := status.New(codes.Unavailable, "the token cannot be checked: dial tcp: connection refused").WithDetails(&errdetails.ErrorInfo{Reason: "UNAVAILABLE", Domain: "catena"})
	if err != nil {
		t.Fatal(err)
	}
	if got := Message(ours.Err()); got != "the token cannot be checked: dial tcp: connection refused" {
		t.Errorf("of the controller itself: %s", got)
	}
	if got := Message(status.Error(codes.Unavailable, "connection error: connection refused")); !strings.HasPrefix(got, "the controller cannot be reached (connection error") {
		t.Errorf("of the connection: %s", got)
	}
}

// TestManifestProject: --project is for the service of a file, too.
func TestManifestProject(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.yaml")
	if err := os.WriteFile(path, []byte("name: s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		want string
	}{{nil, ""}, {[]string{"-p", "other"}, "other"}} {
		var conn connection
		cmd := &cobra.Command{Use: "x"}
		conn.flags(cmd)
		if err := cmd.ParseFlags(tt.args); err != nil {
			t.Fatal(err)
		}
		m, err := conn.manifest(cmd, path)
		if err != nil || m.GetProject() != tt.want || m.GetYaml() != "name: s\n" {
			t.Errorf("%v: %v, %v", tt.args, m, err)
		}
	}
}
