//go:build !nobroker

package embedded_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/rs/zerolog"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/bus"
)

// These tests connect to servers that ask for more than the embedded broker
// does. They are in this package because no other may import nats-server.

// start starts a server on a free port.
func start(t *testing.T, opts server.Options) string {
	t.Helper()
	opts.Host, opts.Port, opts.NoSigs, opts.NoLog = "127.0.0.1", server.RANDOM_PORT, true, true
	s, err := server.NewServer(&opts)
	must(t, err)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	return s.Addr().String()
}

func fileText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	must(t, err)
	return strings.TrimSpace(string(text))
}

// accounts trusts the operator of testdata.
func accounts(t *testing.T) server.Options {
	t.Helper()
	operator, err := server.ReadOperatorJWT("testdata/operator.jwt")
	must(t, err)
	resolver := new(server.MemAccResolver)
	must(t, resolver.Store(fileText(t, "account.id"), fileText(t, "account.jwt")))
	opts := server.Options{AccountResolver: resolver}
	opts.TrustedOperators = append(opts.TrustedOperators, operator)
	return opts
}

func TestIdentities(t *testing.T) {
	tests := []struct {
		name         string
		server       server.Options
		right, wrong bus.Config
	}{
		{
			"user and password",
			server.Options{Username: "anna", Password: "secret"},
			bus.Config{User: "anna", Password: "secret"},
			bus.Config{User: "anna", Password: "guess"},
		},
		{
			"password in a file",
			server.Options{Username: "anna", Password: "secret"},
			bus.Config{User: "anna", PasswordFile: "testdata/password"},
			bus.Config{User: "anna", PasswordFile: "testdata/user.id"},
		},
		{
			"token",
			server.Options{Authorization: "secret"},
			bus.Config{Token: "secret"},
			bus.Config{},
		},
		{
			"nkey",
			server.Options{Nkeys: []*server.NkeyUser{{Nkey: fileText(t, "user.id")}}},
			bus.Config{NKey: "testdata/user.nk"},
			bus.Config{Token: "secret"},
		},
		{
			"credentials file", accounts(t),
			bus.Config{Credentials: "testdata/user.creds"},
			bus.Config{NKey: "testdata/user.nk"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			url := "nats://" + start(t, tt.server)
			tt.right.URL, tt.wrong.URL = url, url
			accepted(t, tt.right)
			refused(t, tt.wrong, "uthorization")
		})
	}
}

// accepted sends an update through the server and back.
func accepted(t *testing.T, config bus.Config) {
	t.Helper()
	must(t, config.Validate())
	conn, err := bus.Connect(t.Context(), bus.Options{Config: config, Logger: zerolog.Nop()})
	must(t, err)
	defer func() { must(t, conn.Close()) }()
	if stats := conn.Stats(); !stats.State.Connected {
		t.Fatalf("not connected: %s", stats.LastError)
	}
	hub, err := conn.Subscribe()
	must(t, err)
	must(t, conn.Update(update()))
	for {
		m, err := hub.Receive(t.Context(), nil)
		must(t, err)
		if _, ok := m.(*gateway.Update); ok {
			return
		}
	}
}

// refused checks that we are told why, and that it is tried again.
func refused(t *testing.T, config bus.Config, why string) {
	t.Helper()
	attempts := make(chan string, 16)
	conn, err := bus.Connect(t.Context(), bus.Options{Config: config, Logger: zerolog.New(logTo(attempts))})
	must(t, err)
	defer func() { must(t, conn.Close()) }()
	select {
	case line := <-attempts:
		if !strings.Contains(line, why) {
			t.Errorf("logged %s, want %q", line, why)
		}
	case <-time.After(10 * time.Second):
		t.Error("nothing was logged")
	}
	if conn.BusState().Connected {
		t.Error("connected")
	}
}

// logTo hands on each line of a log.
type logTo chan<- string

func (l logTo) Write(line []byte) (int, error) {
	select {
	case l <- string(line):
	default:
	}
	return len(line), nil
}

func TestTLS(t *testing.T) {
	dir := t.TempDir()
	ca := newAuthority(t)
	serverCert, serverKey := ca.issue(t, dir, "server")
	clientCert, clientKey := ca.issue(t, dir, "client")
	stranger, strangerKey := newAuthority(t).issue(t, dir, "stranger")
	caFile := filepath.Join(dir, "ca.pem")
	writePEM(t, caFile, "CERTIFICATE", ca.cert.Raw)

	certificate, err := tls.LoadX509KeyPair(serverCert, serverKey)
	must(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(ca.cert)
	address := start(t, server.Options{
		TLS: true, TLSVerify: true, TLSTimeout: 5,
		TLSConfig: &tls.Config{
			MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate},
			ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool,
		},
	})
	config := func(t bus.TLS) bus.Config { return bus.Config{URL: "tls://" + address, TLS: t} }
	accepted(t, config(bus.TLS{CA: caFile, Cert: clientCert, Key: clientKey}))
	refused(t, config(bus.TLS{Cert: clientCert, Key: clientKey}), "unknown authority")
	// The server says what it misses, and hangs up: which of the two comes first is chance.
	refused(t, config(bus.TLS{CA: caFile}), "tls")
	refused(t, config(bus.TLS{CA: caFile, Cert: stranger, Key: strangerKey}), "tls")
}

// An authority signs certificates for 127.0.0.1.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Unix(0, 0),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	cert, err := x509.ParseCertificate(raw)
	must(t, err)
	return &authority{cert: cert, key: key}
}

func (a *authority) issue(t *testing.T, dir, name string) (certFile, keyFile string) {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotBefore: time.Unix(0, 0),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	raw, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	must(t, err)
	keyRaw, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	certFile, keyFile = filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key")
	writePEM(t, certFile, "CERTIFICATE", raw)
	writePEM(t, keyFile, "PRIVATE KEY", keyRaw)
	return certFile, keyFile
}

func writePEM(t *testing.T, file, kind string, raw []byte) {
	t.Helper()
	must(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}), 0o600))
}
