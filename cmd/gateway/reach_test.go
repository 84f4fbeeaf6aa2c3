package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/polygate/gateway/bus/embedded"
)

// natsOutside starts a NATS outside and returns its URL.
func natsOutside(t *testing.T) string {
	t.Helper()
	broker, err := embedded.Start(embedded.Options{Listen: "127.0.0.1:0", Logger: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Shutdown)
	return broker.URL()
}

func TestCheckConnectsToTheNATSOutsideIfAsked(t *testing.T) {
	// Nobody listens there any more.
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nowhere := gone.Addr().String()
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, url string
		args      []string
		code      int
		want      string
	}{
		{"not asked", "nats://" + nowhere, nil, exitOK, "is fine"},
		{"there", natsOutside(t), []string{"--connect"}, exitOK, "connected to nats://"},
		{"none outside", "", []string{"--connect"}, exitOK, "is fine"},
		{
			"away", "nats://anna:SECRET@" + nowhere,
			[]string{"--connect"},
			exitFailed,
			"bus.url: there is no NATS at nats://anna:xxxxx@" + nowhere + ": dial tcp " + nowhere + ": connect: connection refused",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			name := filepath.Join(t.TempDir(), "gateway.yaml")
			text := ""
			if test.url != "" {
				text = fmt.Sprintf("bus: {url: %q}\n", test.url)
			}
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			var out bytes.Buffer
			code := execute(ctx, append([]string{"check", "-c", name}, test.args...), &out, &out)
			if code != test.code || !strings.Contains(out.String(), test.want) {
				t.Errorf("got %d %s, want %d %s", code, &out, test.code, test.want)
			}
		})
	}
}
