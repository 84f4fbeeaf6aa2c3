//go:build !nobroker

package embedded_test

import (
	"bytes"
	"context"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/bus"
	"github.com/polygate/gateway/bus/embedded"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

var oven = gateway.Owner{Device: "oven", Instance: "i1", Term: 1}

func update() *gateway.Update {
	return &gateway.Update{Owner: oven, Samples: []gateway.SampleUpdate{
		{Role: gateway.Readback, Sample: &gateway.Sample{Value: gateway.Of(1.5)}},
	}}
}

func TestBUS09StoppedUnderLoadAHundredTimes(t *testing.T) {
	listen := "127.0.0.1:0"
	for range 100 {
		broker, err := embedded.Start(embedded.Options{Listen: listen, Logger: zerolog.Nop()})
		must(t, err)                                         // the port of the one before is free again
		listen = strings.TrimPrefix(broker.URL(), "nats://") // from now on always the same
		runUnderLoad(t, broker)
		broker.Shutdown()
	}
	if l, err := net.Listen("tcp", listen); err != nil {
		t.Error(err)
	} else {
		must(t, l.Close())
	}
	goleak.VerifyNone(t)
}

// runUnderLoad publishes over two connections, one of them over TCP, as fast as
// a hub receives, and closes them in the middle of it.
func runUnderLoad(t *testing.T, broker *embedded.Broker) {
	t.Helper()
	inside, err := bus.Connect(t.Context(), bus.Options{Broker: broker, Logger: zerolog.Nop()})
	must(t, err)
	outside, err := bus.Connect(t.Context(), bus.Options{Config: bus.Config{URL: broker.URL()}, Logger: zerolog.Nop()})
	must(t, err)
	hub, err := inside.Subscribe()
	must(t, err)

	const underWay = 64
	tokens := make(chan struct{}, underWay)
	for range underWay {
		tokens <- struct{}{}
	}
	enough, hubEnded := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(hubEnded)
		defer close(tokens)
		for received := 0; ; received++ {
			m, err := hub.Receive(context.Background(), nil)
			if err != nil {
				return
			}
			if received == 100 {
				close(enough)
			}
			if _, ok := m.(*gateway.Update); ok {
				tokens <- struct{}{}
			}
		}
	}()
	var publishers sync.WaitGroup
	for _, conn := range []*bus.Conn{inside, outside} {
		publishers.Go(func() {
			for range tokens {
				if conn.Update(update()) != nil {
					return
				}
			}
		})
	}
	<-enough
	must(t, inside.Close())
	must(t, outside.Close())
	<-hubEnded
	publishers.Wait()
}

func TestABrokerThatGoesFirst(t *testing.T) {
	broker, err := embedded.Start(embedded.Options{Logger: zerolog.Nop()})
	must(t, err)
	conn, err := bus.Connect(t.Context(), bus.Options{Broker: broker, Logger: zerolog.Nop()})
	must(t, err)
	broker.Shutdown()
	broker.Shutdown()
	must(t, conn.Close())
}

func TestNobodyOutsideCanConnectUnlessAsked(t *testing.T) {
	broker, err := embedded.Start(embedded.Options{Logger: zerolog.Nop()})
	must(t, err)
	defer broker.Shutdown()
	if url := broker.URL(); url != "" {
		t.Errorf("it listens on %s", url)
	}
}

func TestStartSaysWhatIsWrong(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { must(t, taken.Close()) }()
	for name, tt := range map[string]struct {
		opts embedded.Options
		want string
	}{
		"a port that is taken": {embedded.Options{Listen: taken.Addr().String()}, "address already in use"},
		"no port":              {embedded.Options{Listen: "127.0.0.1"}, "missing port"},
		"a port by name":       {embedded.Options{Listen: "127.0.0.1:nats"}, `"nats" is not a port`},
		"a huge payload":       {embedded.Options{MaxPayload: 1 << 30}, "payload"},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			tt.opts.Logger = zerolog.New(&log)
			broker, err := embedded.Start(tt.opts)
			if err == nil {
				broker.Shutdown()
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if log.Len() > 0 {
				t.Errorf("an error that is returned was logged, too: %s", log.String())
			}
		})
	}
}
