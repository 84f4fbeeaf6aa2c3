// Package client speaks every protocol of the gateway as a client does, and
// tells what it sees in one form, so that what two protocols show can be
// compared. It is for tests: it knows the one simulated instrument.
package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// The protocols, by the names under which the tables show them.
const (
	SSE       = "REST (SSE)"
	WebSocket = "REST (WebSocket)"
	GraphQL   = "GraphQL"
	GRPC      = "gRPC"
	CA        = "Channel Access"
)

// Protocols returns all of them.
func Protocols() []string { return []string{SSE, WebSocket, GraphQL, GRPC, CA} }

// A Target is where a gateway serves: an address for each interface.
type Target struct{ REST, GraphQL, GRPC, CA string }

// At is the target of a gateway with its default ports.
func At(host string) Target {
	return Target{
		REST: net.JoinHostPort(host, "8080"), GraphQL: net.JoinHostPort(host, "8081"),
		GRPC: net.JoinHostPort(host, "50051"), CA: net.JoinHostPort(host, "5064"),
	}
}

// The kinds of events.
const (
	Up     = "up"     // the client is connected, and shows what follows
	Down   = "down"   // the client has lost its connection, and knows it
	Shown  = "shown"  // the client shows this sample from now on
	Synced = "synced" // everything that was known at the start has been shown
)

// An Event is something that a client sees.
type Event struct {
	At    int64  `json:"at"` // Unix microseconds, when the client's program had it
	Kind  string `json:"kind"`
	Words string `json:"words,omitempty"` // why it is down

	// Of a sample.
	Name     string   `json:"name,omitempty"`
	Role     string   `json:"role,omitempty"` // readback or setpoint
	Value    *float64 `json:"value,omitempty"`
	Time     int64    `json:"time,omitempty"` // of the source, Unix nanoseconds
	Seq      uint64   `json:"seq,omitempty"`  // 0 on Channel Access, which has none
	Severity string   `json:"severity,omitempty"`
	Status   string   `json:"status,omitempty"`
	Lost     uint64   `json:"lost,omitempty"`
}

// Good reports whether a user would take the value of a sample for what the
// instrument says.
func (e *Event) Good() bool { return e.Value != nil && e.Severity != "INVALID" }

func (e *Event) String() string {
	if e.Kind != Shown {
		return strings.TrimSpace(e.Kind + " " + e.Words)
	}
	value := "nothing"
	if e.Value != nil {
		value = fmt.Sprintf("%.0f", *e.Value)
	}
	return fmt.Sprintf("%s %s %s %s %s seq %d", e.Name, e.Role, value, e.Severity, e.Status, e.Seq)
}

// now is the time of an event.
func now() int64 { return time.Now().UnixMicro() }

// Watch connects by a protocol and calls each for whatever the client sees of
// the names, in order, until the connection is lost or ctx ends. It returns why.
func Watch(ctx context.Context, protocol string, at Target, names []string, each func(Event)) error {
	switch protocol {
	case SSE:
		return watchSSE(ctx, at.REST, names, each)
	case WebSocket:
		return watchWebSocket(ctx, at.REST, names, each)
	case GraphQL:
		return watchGraphQL(ctx, at.GraphQL, names, each)
	case GRPC:
		return watchGRPC(ctx, at.GRPC, names, each)
	case CA:
		return watchCA(ctx, at.CA, names, each)
	}
	return unknown(protocol)
}

func unknown(protocol string) error { return fmt.Errorf("there is no protocol %q", protocol) }

// retry is how soon a client that was cut off tries again.
const retry = 100 * time.Millisecond

// Follow is Watch again and again until ctx ends, with Down in between.
func Follow(ctx context.Context, protocol string, at Target, names []string, each func(Event)) {
	again := time.NewTimer(0)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-again.C:
		}
		err := Watch(ctx, protocol, at, names, each)
		if ctx.Err() != nil {
			return
		}
		each(Event{At: now(), Kind: Down, Words: err.Error()})
		again.Reset(retry)
	}
}

// A Verdict is how a put ended, as far as its protocol tells.
type Verdict struct {
	Stage string `json:"stage,omitempty"` // empty on Channel Access
	Code  string `json:"code,omitempty"`  // empty if it succeeded
	Words string `json:"words,omitempty"`
}

// OK reports whether the put succeeded.
func (v *Verdict) OK() bool { return v.Code == "" }

// A Putter is a connection that puts. It is for one goroutine.
type Putter interface {
	// Put waits for the verdict. The error is about the connection: what
	// became of the put is then unknown.
	Put(ctx context.Context, name string, value int64) (Verdict, error)
	Close()
}

// DialPutter connects by a protocol.
func DialPutter(ctx context.Context, protocol string, at Target) (Putter, error) {
	switch protocol {
	case SSE:
		return newRESTPutter(at.REST), nil
	case WebSocket:
		return dialWebSocketPutter(ctx, at.REST)
	case GraphQL:
		return newGraphQLPutter(at.GraphQL), nil
	case GRPC:
		return dialGRPCPutter(at.GRPC)
	case CA:
		return dialCAPutter(ctx, at.CA)
	}
	return nil, unknown(protocol)
}

var errEnded = errors.New("the server ended the stream")
