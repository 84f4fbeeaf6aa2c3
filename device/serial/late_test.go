package serial_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/polygate/gateway/device/link"
	"github.com/polygate/gateway/device/serial"
)

// A slowBus is a line with several instruments, each of which answers what it is
// asked in its own time and in order, with numbers that it says only once: bare
// ones, but for p? and q?.
type slowBus struct {
	seed    uint64
	takes   func(r *rand.Rand, device string) time.Duration // never: the reply is lost
	chatter time.Duration                                   // how often something is told unasked, or 0
	dead    func() bool                                     // nothing is told meanwhile
	counter int64
	said    map[int64]string // which question a number answered
	mu      sync.Mutex
}

// never is how long a reply takes that does not come.
const never = -1

func (b *slowBus) Open(context.Context) (link.Port, error) {
	near, far := net.Pipe()
	go b.serve(far)
	return near, nil
}

func (*slowBus) String() string { return "slow bus" }

func (b *slowBus) serve(far net.Conn) {
	replies := make(chan string)
	ended := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		for reply := range replies {
			if _, err := io.WriteString(far, reply); err != nil {
				continue // hung up
			}
		}
	})
	var instruments sync.WaitGroup
	if b.chatter > 0 {
		instruments.Go(func() { b.tell(replies, ended) })
	}
	queues := map[string]chan string{}
	requests := bufio.NewScanner(far)
	for requests.Scan() {
		device := requests.Text()[:1]
		if queues[device] == nil {
			queue, random := make(chan string, 1000), rand.New(rand.NewPCG(b.seed, uint64(device[0])))
			queues[device] = queue
			instruments.Go(func() { b.answer(device, random, queue, replies, ended) })
		}
		queues[device] <- strings.TrimSpace(requests.Text())
	}
	close(ended)
	for _, queue := range queues {
		close(queue)
	}
	instruments.Wait()
	close(replies)
	all.Wait()
	far.Close()
}

// tell tells something unasked.
func (b *slowBus) tell(replies chan<- string, ended <-chan struct{}) {
	ticker := time.NewTicker(b.chatter)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if !b.dead() {
				replies <- "T=1\r\n"
			}
		case <-ended:
			return
		}
	}
}

func (b *slowBus) answer(device string, random *rand.Rand, queue <-chan string, replies chan<- string, ended <-chan struct{}) {
	for request := range queue {
		takes := b.takes(random, device)
		if takes == never {
			continue
		}
		timer := time.NewTimer(takes)
		select {
		case <-timer.C:
		case <-ended:
			timer.Stop()
			continue
		}
		b.mu.Lock()
		b.counter++
		n := b.counter
		b.said[n] = request
		b.mu.Unlock()
		lead := ""
		if what := request[1:2]; what == "p" || what == "q" {
			lead = what + "="
		}
		replies <- fmt.Sprintf("%s%d\r\n", lead, n)
	}
}

// answers returns what was asked when the number was said.
func (b *slowBus) answers(n int64) (question string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.said[n]
}

// withDevices runs a test with devices on a slowBus, on a fake clock.
func withDevices(t *testing.T, bus *slowBus, test func(ctx context.Context, devices []*serial.Driver), configs ...string) {
	synctest.Test(t, func(t *testing.T) {
		bus.said = map[int64]string{}
		line := link.NewLine("line1", bus)
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- line.Serve(ctx) }()
		var lines serial.Lines
		var devices []*serial.Driver
		for _, config := range configs {
			d, err := lines.New("dev", decode(t, "terminator: \"\\r\\n\"\n"+config), line, zerolog.Nop())
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Connect(ctx, newSink()); err != nil {
				t.Fatal(err)
			}
			devices = append(devices, d)
		}
		test(ctx, devices)
		for _, d := range devices {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		}
		cancel()
		if err := <-served; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// deceived runs devices with two questions each, and returns how many of so many
// polls were good, and how many published what answered another question.
func deceived(t *testing.T, bus *slowBus, devices, polls int) (good, wrong int) {
	random := rand.New(rand.NewPCG(bus.seed, 0))
	var configs []string
	for d := range devices {
		configs = append(configs, fmt.Sprintf(`
address: %d
reply_timeout: 400ms
read_timeout: 50ms
attributes:
  a: {kind: int64, read: "{address}a?", reply: "%%d", poll: 1s}
  b: {kind: int64, read: "{address}b?", reply: "%%d", poll: 1s}
  told: {kind: int64, listen: "T=%%d"}
`, d))
	}
	withDevices(t, bus, func(ctx context.Context, drivers []*serial.Driver) {
		for range polls {
			d := random.IntN(devices)
			poll := random.IntN(2)
			readings, err := drivers[d].Poll(ctx, poll, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range readings {
				if r.Failed() {
					continue
				}
				good++
				if bus.answers(r.Value.Int()) != fmt.Sprintf("%d%c?", d, 'a'+poll) {
					wrong++
				}
			}
			timer := time.NewTimer(time.Duration(random.IntN(300)) * time.Millisecond)
			<-timer.C
		}
	}, configs...)
	return good, wrong
}

// An instrument that answers in order may be late by any time: a bare number is
// never taken for what answers another question. This runs on a fake clock.
func TestSD01LateByAnyTime(t *testing.T) {
	between := func(r *rand.Rand, low, high int) time.Duration {
		return time.Duration(low+r.IntN(high-low)) * time.Millisecond
	}
	quick := func(r *rand.Rand) time.Duration { return between(r, 1, 30) }
	var lost atomic.Int32 // how many replies will not come
	dead := func() bool { return lost.Load() > 0 }
	for _, test := range []struct {
		name      string
		devices   int
		leastGood int
		chatter   time.Duration
		takes     func(r *rand.Rand, device string) time.Duration
	}{
		{"quick, and sometimes late", 1, 200, 0, func(r *rand.Rand, _ string) time.Duration {
			if r.IntN(30) == 0 {
				return between(r, 100, 4000)
			}
			return quick(r)
		}},
		{"it tends to be late several times in a row", 1, 50, 0, func(r *rand.Rand, _ string) time.Duration {
			if lost.Load() > 0 {
				lost.Add(-1)
				return between(r, 400, 4000)
			}
			if r.IntN(50) == 0 {
				lost.Store(2)
			}
			return quick(r)
		}},
		{"nearly as slow as the timeout allows, and seldom late", 1, 200, 0, func(r *rand.Rand, _ string) time.Duration {
			if r.IntN(100) == 0 {
				return between(r, 400, 1000)
			}
			return between(r, 300, 390)
		}},
		{"it hangs, and then answers all that it was asked", 1, 50, 0, func(r *rand.Rand, _ string) time.Duration {
			if r.IntN(50) == 0 {
				return between(r, 10000, 20000)
			}
			return quick(r)
		}},
		{"one of three hangs", 3, 150, 0, func(r *rand.Rand, device string) time.Duration {
			if device == "0" && r.IntN(50) == 0 {
				return between(r, 1000, 20000)
			}
			return quick(r)
		}},
		{"sometimes late, and it tells things all the time", 1, 200, 20 * time.Millisecond, func(r *rand.Rand, _ string) time.Duration {
			if r.IntN(30) == 0 {
				return between(r, 100, 4000)
			}
			return quick(r)
		}},
		{"a reply is lost sometimes, and it tells things all the time", 1, 200, 20 * time.Millisecond, func(r *rand.Rand, _ string) time.Duration {
			if r.IntN(30) == 0 {
				return never
			}
			return quick(r)
		}},
		{"it is dead for a while, and otherwise tells things all the time", 1, 100, 20 * time.Millisecond, func(r *rand.Rand, _ string) time.Duration {
			if lost.Load() > 0 {
				lost.Add(-1)
				return never
			}
			if r.IntN(100) == 0 {
				lost.Store(12)
			}
			return quick(r)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for seed := range uint64(20) {
				good, wrong := deceived(t, &slowBus{seed: seed, takes: test.takes, chatter: test.chatter, dead: dead}, test.devices, 300)
				if wrong > 0 {
					t.Errorf("seed %d: of %d values %d answered another question", seed, good, wrong)
				}
				if good < test.leastGood {
					t.Errorf("seed %d: only %d good values", seed, good)
				}
			}
		})
	}
}
