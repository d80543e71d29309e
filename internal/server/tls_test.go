package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	catenav1 "github.com/catena-nfv/catena/api/catena/v1"
)

func readAll(resp *http.Response) string {
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// authority signs certificates.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pool *x509.CertPool
	last int64
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{t: t, pool: x509.NewCertPool()}
	der, key := a.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	})
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	a.cert, a.key = cert, key
	a.pool.AddCert(cert)
	return a
}

// sign makes a certificate; before there is an authority's own, it signs itself.
func (a *authority) sign(c *x509.Certificate) ([]byte, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	a.last++
	c.SerialNumber, c.NotBefore, c.NotAfter = big.NewInt(a.last), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	return der, key
}

func (a *authority) file(dir string) string {
	path := filepath.Join(dir, a.cert.Subject.CommonName+".pem")
	a.write(path, "CERTIFICATE", a.cert.Raw)
	return path
}

func (a *authority) write(path, kind string, der []byte) {
	a.t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		a.t.Fatal(err)
	}
}

// server writes a certificate for 127.0.0.1.
func (a *authority) server(dir, name string) TLSFiles {
	a.t.Helper()
	der, key := a.sign(&x509.Certificate{Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	files := TLSFiles{Cert: filepath.Join(dir, "server.pem"), Key: filepath.Join(dir, "server.key")}
	a.write(files.Cert, "CERTIFICATE", der)
	a.write(files.Key, "PRIVATE KEY", raw)
	return files
}

func (a *authority) client(subject pkix.Name) tls.Certificate {
	der, key := a.sign(&x509.Certificate{Subject: subject, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func TestTLS(t *testing.T) {
	dir := t.TempDir()
	ca := newAuthority(t, "ca")
	run, err := os.MkdirTemp("", "ct-tls-") // socket paths have to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(run) })
	socket := filepath.Join(run, "s")
	// With TLS, addresses other than those on loopback are taken.
	s := openServer(t, func(c *Config) { c.TLS, c.Socket, c.GRPC = ca.server(dir, "first"), socket, "0.0.0.0:0" })
	_, port, err := net.SplitHostPort(s.GRPCAddress())
	if err != nil {
		t.Fatal(err)
	}
	address := "127.0.0.1:" + port
	version := func(conn *grpc.ClientConn, header ...string) error {
		_, err := catenav1.NewPlatformClient(conn).GetVersion(with(t, header...), &catenav1.GetVersionRequest{})
		return err
	}
	trusting := credentials.NewTLS(&tls.Config{RootCAs: ca.pool})
	conn := dial(t, address, grpc.WithTransportCredentials(trusting))
	if err := version(conn, "authorization", "Bearer "+adminToken); err != nil {
		t.Error(err)
	}
	if err := version(conn); status.Code(err) != codes.Unauthenticated {
		t.Errorf("encrypted is not authenticated: %v", err)
	}
	// What the gateway says of its clients, nobody else can say.
	if err := version(conn, gatewayIdentity, `{"Admin":true}`); status.Code(err) != codes.Unauthenticated {
		t.Errorf("a forged identity: %v", err)
	}
	if err := version(dial(t, address, grpc.WithTransportCredentials(insecure.NewCredentials())), "authorization", "Bearer "+adminToken); err == nil {
		t.Error("a client without TLS was answered")
	}
	if err := version(dial(t, "unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))); err != nil {
		t.Errorf("the unix socket: %v", err)
	}
	web := func() *http.Client {
		return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: ca.pool}, DisableKeepAlives: true}}
	}
	if code, body := get(t, web(), "https://"+s.HTTPAddress()+"/v1/version", "Authorization", "Bearer "+adminToken); code != 200 {
		t.Errorf("REST: %d %s", code, body)
	}
	for header, value := range map[string]string{"Grpc-Metadata-" + gatewayIdentity: `{"Admin":true}`, gatewayIdentity: `{"Admin":true}`} {
		if code, body := get(t, web(), "https://"+s.HTTPAddress()+"/v1/version", header, value); code != http.StatusUnauthorized {
			t.Errorf("REST with a forged identity in %s: %d %s", header, code, body)
		}
	}

	// New files are taken without a restart; what is half written is not.
	name := func() string {
		c, err := tls.Dial("tcp", address, &tls.Config{RootCAs: ca.pool, NextProtos: []string{"h2"}})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].Subject.CommonName
	}
	if got := name(); got != "first" {
		t.Errorf("certificate %q", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "server.pem"), []byte("-----BEGIN CERT"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := name(); got != "first" {
		t.Errorf("certificate %q while the file is broken", got)
	}
	ca.server(dir, "second")
	if got := name(); got != "second" {
		t.Errorf("certificate %q, want the new one", got)
	}
	if code, _ := get(t, web(), "https://"+s.HTTPAddress()+"/healthz", "", ""); code != 200 {
		t.Errorf("HTTP after the change: %d", code)
	}
}

func TestClientCertificates(t *testing.T) {
	dir := t.TempDir()
	ca, other := newAuthority(t, "ca"), newAuthority(t, "other")
	files := ca.server(dir, "server")
	files.ClientCA = ca.file(dir)
	s := openServer(t, func(c *Config) { c.TLS = files })
	root := credentials.NewTLS(&tls.Config{RootCAs: ca.pool, Certificates: []tls.Certificate{ca.client(pkix.Name{OrganizationalUnit: []string{AdminUnit}})}})
	for _, p := range []string{"alpha", "beta"} {
		if _, err := apply(t.Context(), dial(t, s.GRPCAddress(), grpc.WithTransportCredentials(root)), manifest("project: "+p+"\n"+shop)); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		cert   *tls.Certificate
		header []string
		code   codes.Code
		sees   string
	}{
		"none":              {nil, nil, codes.Unavailable, ""},
		"of another CA":     {ptr(other.client(pkix.Name{OrganizationalUnit: []string{AdminUnit}})), nil, codes.Unavailable, ""},
		"admin":             {ptr(ca.client(pkix.Name{CommonName: "root", OrganizationalUnit: []string{AdminUnit}})), nil, codes.OK, "alpha beta"},
		"of one project":    {ptr(ca.client(pkix.Name{CommonName: "a", Organization: []string{"alpha"}})), nil, codes.OK, "alpha"},
		"of two projects":   {ptr(ca.client(pkix.Name{CommonName: "a", Organization: []string{"alpha", "beta", "No Name"}})), nil, codes.OK, "alpha beta"},
		"of nobody":         {ptr(ca.client(pkix.Name{CommonName: "a", Organization: []string{"No Name"}})), nil, codes.Unauthenticated, ""},
		"nobody with token": {ptr(ca.client(pkix.Name{CommonName: "a"})), []string{"authorization", "Bearer " + alphaToken}, codes.OK, "alpha"},
		"token before it":   {ptr(ca.client(pkix.Name{OrganizationalUnit: []string{AdminUnit}})), []string{"authorization", "Bearer " + alphaToken}, codes.OK, "alpha"},
		"wrong token":       {ptr(ca.client(pkix.Name{OrganizationalUnit: []string{AdminUnit}})), []string{"authorization", "Bearer nonsense"}, codes.Unauthenticated, ""},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := &tls.Config{RootCAs: ca.pool}
			if c.cert != nil {
				cfg.Certificates = []tls.Certificate{*c.cert}
			}
			conn := dial(t, s.GRPCAddress(), grpc.WithTransportCredentials(credentials.NewTLS(cfg)))
			l, err := catenav1.NewOrchestratorClient(conn).ListServices(with(t, c.header...), &catenav1.ListServicesRequest{})
			if status.Code(err) != c.code {
				t.Fatalf("%v, want %v", err, c.code)
			}
			var saw []string
			for _, st := range l.GetServices() {
				saw = append(saw, st.GetService().GetProject())
			}
			if got := strings.Join(saw, " "); got != c.sees {
				t.Errorf("sees %q, want %q", got, c.sees)
			}
			// REST says the same.
			web := &http.Client{Transport: &http.Transport{TLSClientConfig: cfg}}
			header, value := "", ""
			if len(c.header) > 0 {
				header, value = "Authorization", c.header[1]
			}
			code, body := get(t, web, "https://"+s.HTTPAddress()+"/v1/services", header, value)
			if want := map[codes.Code]int{codes.OK: 200, codes.Unauthenticated: 401, codes.Unavailable: 0}[c.code]; code != want {
				t.Errorf("REST: %d %s, want %d", code, body, want)
			}
			for _, p := range []string{"alpha", "beta"} {
				if c.code == codes.OK && strings.Contains(c.sees, p) != strings.Contains(body, `"project":"`+p) {
					t.Errorf("REST shows %s", body)
				}
			}
		})
	}
}

func ptr[T any](v T) *T { return &v }

func TestTLSFilesMissing(t *testing.T) {
	dir := t.TempDir()
	ca := newAuthority(t, "ca")
	good := ca.server(dir, "server")
	for name, files := range map[string]TLSFiles{
		"no key":        {Cert: good.Cert},
		"no file":       {Cert: good.Cert, Key: filepath.Join(dir, "none")},
		"only CA":       {ClientCA: ca.file(dir)},
		"CA is a key":   {Cert: good.Cert, Key: good.Key, ClientCA: good.Key},
		"key is no key": {Cert: good.Cert, Key: good.Cert},
	} {
		if s, err := Start(Config{GRPC: "127.0.0.1:0", TokenFile: filepath.Join(dir, "token"), TLS: files}); err == nil || !strings.Contains(err.Error(), "TLS") {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
}
