package helm_test

import (
	"bytes"
	"context"
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

// A feed is one client that watches demo.ramp_rate over one connection, and what
// it was told.
type feed struct {
	name       string
	lost, good string // how it is told so

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
			t.Fatalf("%s is not told %q (%v):\n%s", f.name, want, err, f.text.String())
		}
	}
}

// feeds start one client for each protocol, all from outside of the cluster.
func (c *cluster) feeds() []*feed {
	c.t.Helper()
	const pattern = "demo.ramp_rate"
	rest, _ := c.forward("service/lab-polygate", 8080)
	graphql, _ := c.forward("service/lab-polygate", 8081)
	grpcAddress, _ := c.forward("service/lab-polygate", 50051)
	feeds := []*feed{
		c.feedHTTP("REST", http.MethodGet, "http://"+rest+"/api/v1/stream?match="+pattern, "", `"driver_lost"`, `"connected"`),
		c.feedHTTP("GraphQL", http.MethodPost, "http://"+graphql+"/graphql",
			`{"query":"subscription{updates(match:\"`+pattern+`\"){events{attribute{availability{state}}}}}"}`, `"DRIVER_LOST"`, `"CONNECTED"`),
		c.feedGRPC(grpcAddress, pattern),
	}
	if python := os.Getenv("POLYGATE_PYTHON"); python != "" {
		address, _ := c.forward("service/lab-polygate-ca", 5064)
		feeds = append(feeds, c.feedCA(python, address, "DEMO:RampRate_RBV"))
	} else {
		c.t.Log("Channel Access was not tried: POLYGATE_PYTHON is not set")
	}
	return feeds
}

func (c *cluster) feedHTTP(name, method, url, body, lost, good string) *feed {
	c.t.Helper()
	f := &feed{name: name, lost: lost, good: good}
	ctx, cancel := context.WithCancel(context.Background())
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	request.Header.Set("Accept", "text/event-stream")
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	c.feeding(cancel, func() {
		defer response.Body.Close()
		_, err := io.Copy(f, response.Body)
		f.end(err)
	})
	return f
}

// feeding runs a client until the test ends.
func (c *cluster) feeding(stop func(), run func()) {
	done := make(chan struct{})
	go func() { defer close(done); run() }()
	c.t.Cleanup(func() { stop(); <-done })
}

func (c *cluster) feedGRPC(address, pattern string) *feed {
	c.t.Helper()
	f := &feed{name: "gRPC", lost: "AVAILABILITY_DRIVER_LOST", good: "AVAILABILITY_CONNECTED"}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	watch, err := pb.NewGatewayServiceClient(conn).Watch(ctx, &pb.WatchRequest{Match: []string{pattern}})
	if err != nil {
		c.t.Fatal(err)
	}
	c.feeding(cancel, func() {
		defer conn.Close()
		for {
			batch, err := watch.Recv()
			if err != nil {
				f.end(err)
				return
			}
			for _, event := range batch.GetEvents() {
				if a := event.GetAttribute(); a != nil {
					fmt.Fprintln(f, a.GetAvailability())
				}
			}
		}
	})
	return f
}

// feedCA is a monitor of libca's. A connection that was lost ends it.
func (c *cluster) feedCA(python, address, pv string) *feed {
	c.t.Helper()
	f := &feed{name: "Channel Access", lost: "severity 3", good: "severity 0"}
	const script = `
import os, sys, epics
def told(severity=None, **_): print("severity", severity, flush=True)
def connection(conn=None, **_):
    if not conn: os._exit(1)
pv = epics.PV(sys.argv[1], auto_monitor=True, callback=told, connection_callback=connection)
sys.stdin.read()
`
	command := exec.Command(python, "-c", script, pv)
	command.Env = append(os.Environ(), "EPICS_CA_NAME_SERVERS="+address, "EPICS_CA_AUTO_ADDR_LIST=NO", "EPICS_CA_ADDR_LIST=")
	stdin, err := command.StdinPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	command.Stdout, command.Stderr = f, f
	if err := command.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.feeding(func() { _ = stdin.Close(); _ = command.Process.Kill() }, func() { f.end(command.Wait()) })
	return f
}
