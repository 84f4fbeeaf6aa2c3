package bus

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/polygate/gateway"
)

// Config is the part of the configuration file that is about the bus. The zero
// Config is a broker within this process that nobody else can reach.
type Config struct {
	// URL is that of a NATS outside ("nats://host:4222", "tls://...", several
	// with commas between); without it the broker runs within this process.
	URL string `yaml:"url,omitempty"`
	// Prefix is what all subjects begin with; DefaultPrefix if it is empty.
	Prefix string `yaml:"prefix,omitempty"`

	// At most one of these says who we are: a credentials file, a file with
	// an nkey seed, a user with a password, or a token. User and password or
	// token also guard the broker within this process, if it listens.
	Credentials string `yaml:"credentials,omitempty"`
	NKey        string `yaml:"nkey,omitempty"`
	User        string `yaml:"user,omitempty"`
	Password    string `yaml:"password,omitempty"`
	// PasswordFile holds the password for a NATS outside; it is read at each
	// connect.
	PasswordFile string `yaml:"password_file,omitempty"`
	Token        string `yaml:"token,omitempty"`

	TLS TLS `yaml:"tls,omitempty"`

	// Lease is the name of a lease in the JetStream of a NATS outside. Of the
	// processes with the same one, one at a time talks to its instruments, and
	// the others stand by.
	Lease string `yaml:"lease,omitempty"`

	// Listen is the address ("host:port") on which the broker within this
	// process takes connections of others; none if it is empty.
	Listen string `yaml:"listen,omitempty"`
	// MaxPayload is the largest message of the broker within this process,
	// in bytes; 0 means embedded.DefaultMaxPayload. A NATS outside has its own.
	MaxPayload int `yaml:"max_payload,omitempty"`
}

// TLS names PEM files for the connection to a NATS outside.
type TLS struct {
	CA   string `yaml:"ca,omitempty"`   // that signed the server's certificate; the system's if empty
	Cert string `yaml:"cert,omitempty"` // our own certificate, with Key
	Key  string `yaml:"key,omitempty"`
}

// Validate reports everything that is wrong, or nil; each part of the error
// begins with the key that it is about. It reads no files.
func (c *Config) Validate() error {
	var errs []error
	complain := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.URL != "" {
		for _, server := range strings.Split(c.URL, ",") {
			if err := checkURL(strings.TrimSpace(server)); err != nil {
				complain("url: %w", err)
			}
		}
		if c.Listen != "" {
			complain("listen: there is no broker within this process if url is set")
		}
		if c.MaxPayload != 0 {
			complain("max_payload: a NATS outside has its own limit")
		}
	} else {
		for _, outside := range []struct {
			key string
			set bool
		}{{"credentials", c.Credentials != ""}, {"nkey", c.NKey != ""}, {"password_file", c.PasswordFile != ""}, {"tls", c.TLS != (TLS{})}, {"lease", c.Lease != ""}} {
			if outside.set {
				complain("%s: this is for a NATS outside: set url", outside.key)
			}
		}
	}
	if c.Prefix != "" {
		for _, segment := range strings.Split(c.Prefix, ".") {
			if err := gateway.CheckSegment(segment); err != nil {
				complain("prefix: %q: %w", gateway.Quotable(c.Prefix), err)
			}
		}
	}
	if c.Lease != "" {
		if err := gateway.CheckSegment(c.Lease); err != nil {
			complain("lease: %w", err)
		}
	}
	identity := ""
	for _, way := range []struct {
		key string
		set bool
	}{{"credentials", c.Credentials != ""}, {"nkey", c.NKey != ""}, {"user", c.User != ""}, {"token", c.Token != ""}} {
		switch {
		case way.set && identity != "":
			complain("%s: %s is set, too: one of them says who we are", way.key, identity)
		case way.set:
			identity = way.key
		}
	}
	if c.Password != "" && c.User == "" {
		complain("password: there is no user")
	}
	if c.PasswordFile != "" && (c.User == "" || c.Password != "") {
		complain("password_file: it goes with user, in place of password")
	}
	if (c.TLS.Cert == "") != (c.TLS.Key == "") {
		complain("tls: cert and key go together")
	}
	if c.Listen != "" {
		_, port, err := net.SplitHostPort(c.Listen)
		if err == nil {
			_, err = net.DefaultResolver.LookupPort(context.Background(), "tcp", port)
		}
		if err != nil {
			complain("listen: want host:port: %w", err)
		}
	}
	if c.MaxPayload < 0 || c.MaxPayload > MaxMaxPayload {
		complain("max_payload: %d is not within 0 ... %d", c.MaxPayload, MaxMaxPayload)
	}
	return errors.Join(errs...)
}

// MaxMaxPayload is the largest limit that NATS can have, in bytes
// (nats-server refuses more than its MAX_PENDING_SIZE of 64 MiB).
const MaxMaxPayload = 64 << 20

func checkURL(server string) error {
	u, err := url.Parse(server)
	if err != nil {
		return err
	}
	switch u.Scheme {
	case "nats", "tls", "ws", "wss":
	default:
		return fmt.Errorf("%q: want nats://host:port or tls://host:port", gateway.Quotable(u.Redacted()))
	}
	if u.Hostname() == "" {
		return fmt.Errorf("%q has no host", gateway.Quotable(u.Redacted()))
	}
	if _, err := net.DefaultResolver.LookupPort(context.Background(), "tcp", u.Port()); err != nil {
		return fmt.Errorf("%q: %w", gateway.Quotable(u.Redacted()), err)
	}
	return nil
}

// identity returns the options that say who we are.
func (c *Config) identity() ([]nats.Option, error) {
	switch {
	case c.Credentials != "":
		// nats.go reads the file at each connect and would try for ever.
		if _, err := os.Stat(c.Credentials); err != nil {
			return nil, fmt.Errorf("credentials: %w", err)
		}
		return []nats.Option{nats.UserCredentials(c.Credentials)}, nil
	case c.NKey != "":
		option, err := nats.NkeyOptionFromSeed(c.NKey)
		if err != nil {
			return nil, fmt.Errorf("nkey: %w", err)
		}
		return []nats.Option{option}, nil
	case c.PasswordFile != "":
		if _, err := c.readPassword(); err != nil {
			return nil, fmt.Errorf("password_file: %w", err)
		}
		return []nats.Option{nats.UserInfoHandler(func() (user, password string) {
			password, _ = c.readPassword() // the server tells that an empty one is wrong
			return c.User, password
		})}, nil
	case c.User != "":
		return []nats.Option{nats.UserInfo(c.User, c.Password)}, nil
	case c.Token != "":
		return []nats.Option{nats.Token(c.Token)}, nil
	}
	return nil, nil
}

// readPassword returns the text of the file, without the end of its line.
func (c *Config) readPassword() (string, error) {
	text, err := os.ReadFile(c.PasswordFile)
	return strings.TrimRight(string(text), "\r\n"), err
}

func (t *TLS) options() []nats.Option {
	var options []nats.Option
	if t.CA != "" {
		options = append(options, nats.RootCAs(t.CA))
	}
	if t.Cert != "" {
		options = append(options, nats.ClientCert(t.Cert, t.Key))
	}
	return options
}
