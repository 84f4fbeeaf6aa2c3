package helm_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/polygate/gateway/proto/polygate/v1"
)

// A feed is one client that watches demo.ramp_rate, and what it was told.
type feed struct {
	name       string
	lost, good string              // how it is told so
	value      func(string) string // how it is told a value

	mu    sync.Mutex
	text  bytes.Buffer
	seen  int // up to here it was looked at
	ended error
}

func (f *feed) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.text.Write(p)
}

func (f *feed) end(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		err = io.EOF
	}
	f.ended = err
}

// next reports whether it was told something since it was last asked.
func (f *feed) next(want string) (told bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := strings.Index(f.text.String()[f.seen:], want); i >= 0 {
		f.seen += i + len(want)
		return true, nil
	}
	return false, f.ended
}

// await waits until the client was told something.
func (f *feed) await(t *testing.T, want string) {
	t.Helper()
	pause := time.NewTicker(50 * time.Millisecond)
	defer pause.Stop()
	for end := time.Now().Add(limit); ; <-pause.C {
		told, err := f.next(want)
		switch {
		case told:
			return
		case err != nil, time.Now().After(end):
			f.mu.Lock()
			defer f.mu.Unlock()
			t.Fatalf("%s is not told %q (%v):\n%s", f.name, want, err, f.text.String())
		}
	}
}

// addresses are where a release serves, one for each protocol.
type addresses struct{ rest, graphql, grpc, ca string }

// broken is what a feed has in between two connections.
const broken = "the connection broke"

// A watcher follows demo.ramp_rate over one connection until that breaks.
type watcher func(ctx context.Context, f *feed) error

// feeds start one client for each protocol, all from outside of the cluster.
// Those that do not come back end with their first connection.
func (c *cluster) feeds(at addresses, comeBack bool) []*feed {
	c.t.Helper()
	const pattern = "demo.ramp_rate"
	quoted := func(value string) string { return `"value":` + value }
	events := watchHTTP(http.MethodGet, "http://"+at.rest+"/api/v1/stream?match="+pattern, "")
	updates := watchHTTP(http.MethodPost, "http://"+at.graphql+"/graphql",
		`{"query":"subscription{updates(match:\"`+pattern+`\"){events{attribute{availability{state} readback{value}}}}}"}`)
	feeds := []*feed{
		c.feed(&feed{name: "REST", lost: `"driver_lost"`, good: `"connected"`, value: quoted}, comeBack, events),
		c.feed(&feed{name: "GraphQL", lost: `"DRIVER_LOST"`, good: `"CONNECTED"`, value: quoted}, comeBack, updates),
		c.feed(&feed{
			name: "gRPC", lost: "AVAILABILITY_DRIVER_LOST", good: "AVAILABILITY_CONNECTED",
			value: func(value string) string { return "value " + value },
		}, comeBack, c.watchGRPC(at.grpc, pattern)),
	}
	python := os.Getenv("POLYGATE_PYTHON")
	if python == "" {
		c.t.Log("Channel Access was not tried: POLYGATE_PYTHON is not set")
		return feeds
	}
	return append(feeds, c.feed(&feed{
		name: "Channel Access", lost: "severity 3", good: "severity 0",
		value: func(value string) string { return "severity 0 value " + value },
	}, false, watchCA(python, at.ca, "DEMO:RampRate_RBV", comeBack)))
}

// feed runs a client until the test ends. One that comes back connects again,
// as often as it takes.
func (c *cluster) feed(f *feed, comesBack bool, watch watcher) *feed {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		pause := time.NewTicker(200 * time.Millisecond)
		defer pause.Stop()
		err := watch(ctx, f)
		for comesBack && ctx.Err() == nil {
			fmt.Fprintf(f, "%s: %v\n", broken, err)
			<-pause.C
			err = watch(ctx, f)
		}
		f.end(err)
	}()
	c.t.Cleanup(func() { stop(); <-done })
	return f
}

// watchHTTP reads server-sent events.
func watchHTTP(method, url, body string) watcher {
	return func(ctx context.Context, f *feed) error {
		request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
		if err != nil {
			return err
		}
		request.Header.Set("Accept", "text/event-stream")
		request.Header.Set("Content-Type", "application/json")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if _, err := io.Copy(f, response.Body); err != nil {
			return err
		}
		return errors.New("the stream ended")
	}
}

// watchGRPC keeps one channel, which connects by itself.
func (c *cluster) watchGRPC(address, pattern string) watcher {
	c.t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = conn.Close() })
	return func(ctx context.Context, f *feed) error {
		watch, err := pb.NewGatewayServiceClient(conn).Watch(ctx, &pb.WatchRequest{Match: []string{pattern}})
		if err != nil {
			return err
		}
		for {
			batch, err := watch.Recv()
			if err != nil {
				return err
			}
			for _, event := range batch.GetEvents() {
				if a := event.GetAttribute(); a != nil {
					fmt.Fprintln(f, a.GetAvailability(), "value", a.GetReadback().GetValue().GetFloat64Value())
				}
				if event.GetRole() == pb.Role_ROLE_READBACK {
					fmt.Fprintln(f, "value", event.GetSample().GetValue().GetFloat64Value())
				}
			}
		}
	}
}

// watchCA is a monitor of libca's, which connects again by itself, and here only
// if it is to come back.
func watchCA(python, address, pv string, comesBack bool) watcher {
	const script = `
import os, sys, epics
comes_back, broken = sys.argv[2] == "true", sys.argv[3]
def told(severity=None, value=None, **_): print("severity", severity, "value", value, flush=True)
def connection(conn=None, **_):
    if conn: return
    if not comes_back: os._exit(1)
    print(broken, flush=True)
pv = epics.PV(sys.argv[1], auto_monitor=True, callback=told, connection_callback=connection)
sys.stdin.read()
`
	return func(ctx context.Context, f *feed) error {
		command := exec.CommandContext(ctx, python, "-c", script, pv, fmt.Sprint(comesBack), broken)
		// A name server that refused the connection is tried again after EPICS_CA_CONN_TMO, which is 30 s unless set.
		command.Env = append(os.Environ(), "EPICS_CA_NAME_SERVERS="+address, "EPICS_CA_AUTO_ADDR_LIST=NO", "EPICS_CA_ADDR_LIST=", "EPICS_CA_CONN_TMO=3")
		stdin, err := command.StdinPipe()
		if err != nil {
			return err
		}
		defer stdin.Close()
		command.Stdout, command.Stderr = f, f
		return command.Run()
	}
}
