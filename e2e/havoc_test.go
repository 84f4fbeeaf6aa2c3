package e2e

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/polygate/gateway/e2e/client"
)

var (
	havocTime = flag.Duration("havoc", 40*time.Second, "how long things go wrong at random")
	havocSeed = flag.Uint64("seed", 0, "what goes wrong at random, as an earlier run said; 0 is something new")
)

// Whatever is killed, held or cut off, and whenever: no client ever shows a value
// as good that is older than the heartbeat's limit allows, and what the verdict of
// a put says about the instrument is true.
func TestWhateverIsKilledNoClientShowsAWrongValueAsGood(t *testing.T) {
	t.Parallel()
	seed := *havocSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // Not for secrets.
	s := newSite(t, "-every", "50ms")
	views := s.clients.watchAll(frontendsName, polled, held)
	awaitGood(views)

	ctx, stop := context.WithCancel(t.Context())
	var busy sync.WaitGroup
	stall := newStallMeter(ctx, &busy)
	puts := newPutLoad(ctx, &busy, s)
	h := &havoc{site: s, random: random, ctx: ctx, views: views}
	h.run(*havocTime)
	stop()
	busy.Wait()
	awaitGood(views)
	for _, v := range views {
		v.stop()
	}
	s.instrument.stop() // its log is complete only then
	if t.Failed() {
		return
	}
	window := heartbeatLimit + time.Second + 2*stall.longest
	t.Logf("seed %d, %d puts, the machine held the test up for at most %v; what went wrong:%s", seed, len(puts.done), stall.longest, h.story.String())
	log := readHeld(t, s.instrument)
	for _, v := range views {
		checkOrder(t, v)
		checkAge(t, v, window)
		checkHeld(t, v, log, window)
	}
	for _, p := range puts.done {
		p.check(t, log)
	}
	if t.Failed() {
		t.Logf("to see it again: -seed %d", seed)
	}
}

// A havoc lets things go wrong, one after the other and sometimes two at once.
type havoc struct {
	*site
	random *rand.Rand
	ctx    context.Context
	views  []*view
	story  strings.Builder
}

// A fault is a way to go wrong, and the way back.
type fault struct {
	what       string
	begin, end func(*box)
}

// ends are those that the other side of a connection is told of, silences those
// that it is not.
func ends() []fault {
	return []fault{{"killed", (*box).kill, (*box).restart}, {"stopped", (*box).stop, (*box).restart}}
}

func silences() []fault {
	return []fault{{"paused", (*box).pause, (*box).resume}, {"cut off", (*box).cut, (*box).join}}
}

// run lets things go wrong for a time and returns when everything is back.
func (h *havoc) run(length time.Duration) {
	began := time.Now()
	for time.Since(began) < length && !h.t.Failed() {
		victims := []*box{h.nats, h.instrument, h.drivers, h.frontends}
		h.random.Shuffle(len(victims), func(i, j int) { victims[i], victims[j] = victims[j], victims[i] })
		if h.random.IntN(3) > 0 {
			victims = victims[:1]
		} else {
			victims = victims[:2]
		}
		var backs []func()
		for _, victim := range victims {
			f := h.choose(victim)
			fmt.Fprintf(&h.story, "\n  %s %s %s", time.Now().UTC().Format("15:04:05.000"), victim.name, f.what)
			f.begin(victim)
			backs = append(backs, func() {
				f.end(victim)
				fmt.Fprintf(&h.story, "\n  %s %s back", time.Now().UTC().Format("15:04:05.000"), victim.name)
			})
			h.wait(time.Second)
		}
		h.wait(5 * time.Second)
		for _, back := range backs {
			back()
			h.wait(500 * time.Millisecond)
		}
		if h.random.IntN(4) > 0 { // else the next comes before everything has come back
			awaitGood(h.views)
		}
		h.wait(2 * time.Second)
	}
}

// choose leaves out what a client cannot notice but by its own patience: a
// gateway that holds the connection and says nothing.
func (h *havoc) choose(victim *box) fault {
	all := ends()
	if victim != h.frontends {
		all = append(all, silences()...)
	}
	return all[h.random.IntN(len(all))]
}

// wait lets a random time pass, up to the longest.
func (h *havoc) wait(longest time.Duration) {
	select {
	case <-time.After(time.Duration(h.random.Int64N(int64(longest)))):
	case <-h.ctx.Done():
	}
}

// A stallMeter finds out how long this machine holds programs up.
type stallMeter struct{ longest time.Duration }

// newStallMeter measures until ctx ends; longest counts after busy has been
// waited for.
func newStallMeter(ctx context.Context, busy *sync.WaitGroup) *stallMeter {
	const interval = 20 * time.Millisecond
	m := &stallMeter{}
	busy.Go(func() {
		timer := time.NewTimer(interval)
		defer timer.Stop()
		for {
			began := time.Now()
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
			}
			m.longest = max(m.longest, time.Since(began)-interval)
			timer.Reset(interval)
		}
	})
	return m
}

// A putLoad puts all the time, by all protocols in turn, each time another number.
type putLoad struct{ done []donePut }

// A donePut is a put and what was said of it.
type donePut struct {
	protocol string
	value    int64
	verdict  client.Verdict
	err      error // of the connection
}

func newPutLoad(ctx context.Context, busy *sync.WaitGroup, s *site) *putLoad {
	l := &putLoad{}
	busy.Go(func() {
		for value := int64(1); ctx.Err() == nil; value++ {
			protocol := client.Protocols()[value%int64(len(client.Protocols()))]
			p := donePut{protocol: protocol, value: value}
			within, cancel := context.WithTimeout(ctx, 5*time.Second)
			p.verdict, p.err = s.clients.tryPut(within, protocol, frontendsName, held, value)
			cancel()
			l.done = append(l.done, p)
		}
	})
	return l
}

// check compares a verdict with what the instrument was told.
func (p *donePut) check(t *testing.T, log heldLog) {
	t.Helper()
	told := log.count(p.value)
	neverSent := p.verdict.Stage == "refused" || p.verdict.Stage == "superseded" || p.verdict.Stage == "accepted"
	switch {
	case told > 1:
		t.Errorf("%s: %d was put once and told to the instrument %d times: %+v %v", p.protocol, p.value, told, p.verdict, p.err)
	case p.err == nil && p.verdict.OK() && told != 1:
		t.Errorf("%s: %d was reported as done, and the instrument was never told: %+v", p.protocol, p.value, p.verdict)
	case p.err == nil && neverSent && told != 0:
		t.Errorf("%s: %d was reported as never sent, and the instrument was told: %+v", p.protocol, p.value, p.verdict)
	}
}
