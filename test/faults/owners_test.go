package faults_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/polygate/gateway/test/rig"
)

// putters are clients that put one new value after the other, of their own.
type putters struct {
	wait     sync.WaitGroup
	stopping atomic.Bool
	next     atomic.Int64

	mu       sync.Mutex
	verdicts []verdict
	err      error
}

func (p *putters) start(hub *rig.Gateway, clients int) {
	for range clients {
		p.wait.Go(func() {
			for !p.stopping.Load() {
				value := int(p.next.Add(1))
				reply, err := hub.TryPut("oven.value", fmt.Sprint(value), "budget=2s")
				p.mu.Lock()
				p.verdicts = append(p.verdicts, verdict{value: value, reply: reply})
				if err != nil {
					p.err = err
				}
				p.mu.Unlock()
				if err != nil {
					return
				}
				if !reply.Sent() {
					<-time.After(5 * time.Millisecond) // as a client would that is told to come back later
				}
			}
		})
	}
}

func (p *putters) stop(t *testing.T) []verdict {
	t.Helper()
	p.stopping.Store(true)
	p.wait.Wait()
	if p.err != nil {
		t.Fatal(p.err)
	}
	return p.verdicts
}

// Drivers that come and go claim one device, each with a link of its own to the
// instrument, while clients put. Whatever happens, no put is written twice, and
// the verdicts say what the instrument saw.
func TestTwoOwnersNeverWriteOnePutTwice(t *testing.T) {
	s := newSplit(t)
	current := s.driver()
	s.known(0)
	var clients putters
	clients.start(s.hub, 4)
	for round := range 9 {
		skip := len(s.instrument.got())
		next := s.driver() // claims the device while the other has it
		s.instrument.await(0, "a put from the new owner", s.instrument.putsOfNew(skip, 1))
		switch round % 3 {
		case 0:
			current.Stop()
		case 1:
			current.Kill()
		default: // the new one goes, and the old one takes the device back
			next.Stop()
			s.hub.Await("oven.value", 5*time.Second+2*able, "owned again", func(r *rig.Reply) bool { return r.Good() })
			skip = len(s.instrument.got())
			s.instrument.await(skip, "a put from the first owner", isPut)
			continue
		}
		current = next
	}
	verdicts := clients.stop(t)
	written := map[string]int{}
	for _, r := range s.instrument.got() {
		written[r.text]++
	}
	outcomes := map[string]int{}
	for _, v := range verdicts {
		v.check(t, written[fmt.Sprintf("V=%d", v.value)])
		outcomes[fmt.Sprint(v.reply.Status, " ", v.reply.Code, " ", v.reply.Stage)]++
	}
	t.Log(outcomes)
	if outcomes["200  verified"] < 100 {
		t.Errorf("hardly any put was done: %v", outcomes)
	}
}

func isPut(r request) bool { return len(r.text) > 2 && r.text[:2] == "V=" }

// putsOfNew wants the nth put over connections that did not exist at the time
// of request skip. It must be asked about all requests in turn.
func (i *instrument) putsOfNew(skip, n int) func(request) bool {
	known := map[string]bool{}
	for _, r := range i.got()[:skip] {
		known[r.from] = true
	}
	return func(r request) bool {
		if isPut(r) && !known[r.from] {
			n--
		}
		return n == 0
	}
}
