package e2e

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"
)

var natsImage = flag.String("nats", "", "image of NATS to use instead of one built here, such as nats:2.15.2")

// limit bounds every wait. It is generous: only a fault reaches it.
const limit = 60 * time.Second

// heartbeatLimit is how long a driver may be silent before what it said no longer
// counts, on a bus outside: three beats of a second that did not come, and half
// of one.
const heartbeatLimit = 3500 * time.Millisecond

func TestMain(m *testing.M) {
	// Ryuk is an image that would have to be pulled; sweep does its work. And
	// where this runs in a container itself, ports are still on its own loopback.
	for name, value := range map[string]string{"TESTCONTAINERS_RYUK_DISABLED": "true", "TESTCONTAINERS_HOST_OVERRIDE": "127.0.0.1"} {
		if err := os.Setenv(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}
