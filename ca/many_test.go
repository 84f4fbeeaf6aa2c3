package ca

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/ca/cawire"
	"github.com/polygate/gateway/hub/hubtest"
)

// full makes the tests of many clients as long as they are meant to be, rather
// than as long as everybody can wait for:
//
//	go test ./ca -run 'ManyCircuits|PythonClients|AnIOCPrints' -full -v -timeout 30m
var full = flag.Bool("full", false, "many circuits for a minute, and 1,000 samples of 1,000 counters for each client in Python")

const (
	manyCircuits = 500
	manyMonitors = 100
	manyRate     = 2 // updates of each monitor in a second
)

// manyClients has the address of the server in the process that plays the clients,
// which is another one so that what they need is not taken for the server's.
const manyClients = "POLYGATE_TEST_CLIENTS_OF"

// TestManyCircuitsMissNothing: 500 circuits with 100 monitors each get every
// update in order; with -full for a minute. In the end nothing is left.
func TestManyCircuitsMissNothing(t *testing.T) {
	updates, wait := 5, 3*time.Minute
	if *full {
		updates = 60 * manyRate
	}
	if addr := os.Getenv(manyClients); addr != "" {
		playClients(t, addr, updates, wait)
		return
	}
	var list []*gateway.Descriptor
	for i := range manyMonitors {
		list = append(list, float(fmt.Sprintf("v%d", i), r))
	}
	w := newWorld(t, list...)
	atFirst := heap()
	ctx, cancel := context.WithTimeout(t.Context(), 2*wait)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out := newLines()
	clients := exec.CommandContext(ctx, self, "-test.run=^"+t.Name()+"$", fmt.Sprintf("-full=%t", *full))
	clients.Env, clients.Stdout, clients.Stderr = append(os.Environ(), manyClients+"="+w.server.Addr().String()), out, out
	if err := clients.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- clients.Wait() }()
	out.within(t, wait, func(s string) bool { return strings.Contains(s, "ready") || strings.Contains(s, "FAIL") })
	subscribed := heap()

	tick := time.NewTicker(time.Second / manyRate)
	defer tick.Stop()
	began := time.Now()
	for n := 1; n <= updates; n++ {
		changes := make([]hubtest.Change, manyMonitors)
		for i := range changes {
			changes[i] = change(fmt.Sprintf("v%d", i), gateway.Of(float64(n)))
		}
		if *full {
			<-tick.C
		}
		w.update(changes...)
	}
	if err := <-ended; err != nil {
		t.Errorf("the clients: %v\n%s", err, out)
	}
	t.Logf("%d events in %v; heap %d MB at first, %d MB with all subscribed, %d MB when the clients are gone; resident at most %s",
		manyCircuits*manyMonitors*updates, time.Since(began).Round(time.Millisecond), atFirst>>20, subscribed>>20, heap()>>20, peak())
	nothingLeft(t, w.server, w.World)
}

// playClients is the other process.
func playClients(t *testing.T, addr string, updates int, wait time.Duration) {
	clients := make([]*tester, manyCircuits)
	each := func(do func(*tester) error) {
		var parts sync.WaitGroup
		for _, c := range clients {
			parts.Go(func() {
				if err := do(c); err != nil {
					t.Error(err)
				}
			})
		}
		parts.Wait()
	}
	for i := range clients {
		clients[i] = dialTester(t, addr, cawire.MinorCurrent)
		_ = clients[i].conn.SetDeadline(time.Now().Add(2 * wait))
	}
	each(func(c *tester) error { return c.subscribeAll(manyMonitors) })
	fmt.Println("ready")
	each(func(c *tester) error { return c.follow(manyMonitors, float64(updates)) })
}

// subscribeAll subscribes to so many values, and returns when the server knows.
func (c *tester) subscribeAll(values int) error {
	names := make([]cawire.Message, values)
	for i := range names {
		names[i] = &cawire.CreateChanRequest{CID: c.id(), Minor: c.minor, Name: fmt.Appendf(nil, "X:V%d", i)}
	}
	if err := c.send(names...); err != nil {
		return err
	}
	var subscriptions []cawire.Message
	for len(subscriptions) < values {
		m, err := c.receive()
		if err != nil {
			return err
		}
		if ch, ok := m.(*cawire.CreateChanReply); ok {
			subscriptions = append(subscriptions,
				&cawire.EventAdd{Type: cawire.DBRTimeDouble, SID: ch.SID, SubscriptionID: c.id(), Mask: cawire.DBEValue})
		}
	}
	if err := c.send(append(subscriptions, &cawire.Echo{})...); err != nil {
		return err
	}
	for {
		m, err := c.receive()
		if _, done := m.(*cawire.Echo); done || err != nil {
			return err
		}
	}
}

// follow receives until so many subscriptions have reached a value, one by one.
func (c *tester) follow(subscriptions int, to float64) error {
	last := map[uint32]float64{}
	for done := 0; done < subscriptions; {
		m, err := c.receive()
		if err != nil {
			return err
		}
		e, ok := m.(*cawire.Event)
		if !ok {
			continue
		}
		_, v := doubles(c.t, e)
		if before, seen := last[e.SubscriptionID]; seen && v[0] != before+1 {
			return fmt.Errorf("subscription %d: %v follows %v", e.SubscriptionID, v[0], before)
		}
		if last[e.SubscriptionID] = v[0]; v[0] == to {
			done++
		}
	}
	return nil
}

// heap is what lives on the heap.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// peak is the most memory that this process has had, where the system tells.
func peak() string {
	status, err := os.ReadFile("/proc/self/status")
	found := regexp.MustCompile(`VmHWM:\s*(.*)`).FindSubmatch(status)
	if err != nil || found == nil {
		return "unknown"
	}
	return string(found[1])
}
