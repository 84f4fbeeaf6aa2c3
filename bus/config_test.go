package bus

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/polygate/gateway"
)

func TestConfigIsChecked(t *testing.T) {
	tests := []struct {
		name string
		c    Config
		want []string // parts of the error; none if it is fine
	}{
		{"nothing set", Config{}, nil},
		{"outside", Config{URL: "nats://a:4222, tls://b", Prefix: "site.a-1", User: "u", Password: "p", TLS: TLS{CA: "ca.pem"}}, nil},
		{"listening", Config{Listen: "127.0.0.1:4222", Token: "t", MaxPayload: 1 << 20}, nil},
		{"a host alone", Config{URL: "nats"}, []string{"url: ", "nats://host:port"}},
		{"http", Config{URL: "http://a"}, []string{"http://a"}},
		{"no host", Config{URL: "nats://"}, []string{"no host"}},
		{"the second of two", Config{URL: "nats://a,,"}, []string{"url"}},
		{"a wildcard in the prefix", Config{Prefix: "a.>"}, []string{"prefix", "'>'"}},
		{"an empty part of the prefix", Config{Prefix: "a."}, []string{"prefix", "empty"}},
		{"two identities", Config{URL: "nats://a", Token: "t", NKey: "f"}, []string{"token: nkey is set, too"}},
		{"password alone", Config{Password: "p"}, []string{"no user"}},
		{"credentials for the broker within", Config{Credentials: "f"}, []string{"credentials: ", "set url"}},
		{"half a certificate", Config{URL: "tls://a", TLS: TLS{Cert: "c"}}, []string{"tls: ", "go together"}},
		{"url and listen", Config{URL: "nats://a", Listen: ":4222"}, []string{"listen"}},
		{"url and max_payload", Config{URL: "nats://a", MaxPayload: 5}, []string{"max_payload"}},
		{"a port alone", Config{Listen: "4222"}, []string{"listen", "missing port"}},
		{"an absurd payload", Config{MaxPayload: 1 << 30}, []string{"max_payload"}},
		{"password in a file", Config{URL: "nats://a", User: "u", PasswordFile: "f"}, nil},
		{"password twice", Config{URL: "nats://a", User: "u", Password: "p", PasswordFile: "f"}, []string{"password_file: "}},
		{"file without a user", Config{URL: "nats://a", PasswordFile: "f"}, []string{"password_file: ", "user"}},
		{"a lease", Config{URL: "nats://a", Lease: "oven-1"}, nil},
		{"a lease that is no name", Config{URL: "nats://a", Lease: "a.b"}, []string{"lease: "}},
		{"a lease in the broker within", Config{Lease: "oven"}, []string{"lease: ", "set url"}},
		{"everything at once", Config{URL: "x", Prefix: "*", Password: "p"}, []string{"url", "prefix", "password"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.c.Validate()
			if (err == nil) != (tt.want == nil) {
				t.Fatalf("got %v", err)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %q, want %q in it", err, want)
				}
			}
		})
	}
}

func TestErrorsHideThePassword(t *testing.T) {
	c := Config{URL: "http://anna:secret@host"}
	if err := c.Validate(); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}

func TestOptionsThatCanNeverWorkAreErrors(t *testing.T) {
	missing := t.TempDir() + "/missing"
	for name, c := range map[string]Config{
		"nowhere":     {},
		"credentials": {URL: "nats://127.0.0.1:1", Credentials: missing},
		"password":    {URL: "nats://127.0.0.1:1", User: "u", PasswordFile: missing},
		"nkey":        {URL: "nats://127.0.0.1:1", NKey: missing},
		"ca":          {URL: "tls://127.0.0.1:1", TLS: TLS{CA: missing}},
		"cert":        {URL: "tls://127.0.0.1:1", TLS: TLS{Cert: missing, Key: missing}},
	} {
		if conn, err := Connect(t.Context(), Options{Config: c, Logger: zerolog.Nop()}); err == nil {
			t.Errorf("%s: no error", name)
			_ = conn.Close()
		}
	}
}

func TestABusThatIsNeverThere(t *testing.T) {
	conn, err := Connect(t.Context(), Options{Config: Config{URL: "nats://127.0.0.1:1"}, Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	if s := conn.Stats(); s.State.Connected {
		t.Errorf("%+v", s)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
}

func TestReconnectWaitsGrowUpToTheirCap(t *testing.T) {
	for attempts := range 200 {
		wait := reconnectWait(attempts)
		if wait <= 0 || wait > maxReconnectWait || attempts > 5 && wait < maxReconnectWait*7/10 {
			t.Errorf("attempt %d: %v", attempts, wait)
		}
	}
	if first := reconnectWait(1); first > 100*time.Millisecond {
		t.Errorf("the first takes %v", first)
	}
}

func TestReplyTokens(t *testing.T) {
	for _, id := range []gateway.PutID{{}, {Hub: 1}, {N: 1}, {Hub: math.MaxUint64, N: math.MaxUint64}} {
		if got, err := parseReplyToken(replyToken(id)); err != nil || got != id {
			t.Errorf("%v: %v, %v", id, got, err)
		}
	}
	for _, token := range []string{"", "-", "1", "1-", "-1", "1-2-3", "z z-1", "99999999999999999999-1"} {
		if id, err := parseReplyToken(token); err == nil {
			t.Errorf("%q is %v", token, id)
		}
	}
}

func FuzzReplyToken(f *testing.F) {
	f.Add("1z-2")
	f.Fuzz(func(t *testing.T, token string) {
		id, err := parseReplyToken(token)
		if err != nil {
			return
		}
		if again, err := parseReplyToken(replyToken(id)); err != nil || again != id {
			t.Errorf("%q: %v, %v", token, again, err)
		}
	})
}

func TestSubjects(t *testing.T) {
	s := newSubjects("")
	owner := gateway.Owner{Device: "oven", Instance: "host-1"}
	for got, want := range map[string]string{
		s.update("oven"):                    "polygate.v1.update.oven",
		s.announce("oven"):                  "polygate.v1.announce.oven",
		s.state("oven"):                     "polygate.v1.state.oven",
		s.put(owner):                        "polygate.v1.put.oven.host-1",
		s.describe():                        "polygate.v1.describe",
		newSubjects("site.b").state("oven"): "site.b.v1.state.oven",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
