package instruments_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/polygate/gateway/device/link/pty"
	"github.com/polygate/gateway/test/rig"
)

// An instrument is what is on the far end of a serial line. The port calls its
// methods one at a time.
type instrument interface {
	// cut returns the length of the first complete request in what has
	// arrived, or 0.
	cut(arrived string) int
	// answer does what a request asks. It returns what the instrument says to
	// that, or nothing.
	answer(request string) string
	// switchOn puts the instrument into the state that it has after power-up.
	switchOn()
}

// A fault is how one reply is spoiled.
type fault struct {
	say  func(reply string) string // what goes out in its place
	late time.Duration             // how much later than usual it goes out
}

// Faults without a parameter.
var (
	silent = fault{say: func(string) string { return "" }}
	torn   = fault{say: func(reply string) string { return reply[:len(reply)/2] }}
)

// flipped makes a fault that flips a bit of one byte.
func flipped(at int) fault {
	return fault{say: func(reply string) string {
		b := []byte(reply)
		b[at] ^= 0x01
		return string(b)
	}}
}

// instead makes a fault that replaces a text in the reply.
func instead(old, other string) fault {
	return fault{say: func(reply string) string { return strings.Replace(reply, old, other, 1) }}
}

// A port is a serial port of this computer with an instrument on its far end.
// It keeps its name when it is unplugged and plugged in again, as those below
// /dev/serial/by-id do.
type port struct {
	t    *testing.T
	name string

	mu      sync.Mutex
	far     instrument
	latency time.Duration // from the end of a request to its reply
	pair    *pty.Pair     // nil while unplugged
	served  chan struct{} // closed when serve has ended
	arrived string
	faults  map[string][]fault
	waiting []utterance
	journal []exchange
	// spokenOver tells of requests that came while the reply to another was
	// still to come: on a line with two wires both would be lost.
	spokenOver []string
	// hurried says that the gateway waits for replies for less time than the
	// file says. Then it may be this computer that made a reply late.
	hurried bool
}

// An utterance is a reply that is to go out.
type utterance struct {
	data   string
	due    time.Time
	spoilt bool
}

// patient is for tests in which nothing fails: a busy machine, which runs the
// instrument, too, is not to be taken for one that does not answer.
const patient = "reply_timeout: 5s"

// An exchange is an entry in the journal of the line.
type exchange struct {
	request, reply string
	at             time.Time
}

// plugIn makes a port with an instrument that was just switched on. At the end
// the test fails if a request had come before the reply to the one before it.
func plugIn(t *testing.T, far instrument, latency time.Duration) *port {
	t.Helper()
	p := &port{t: t, name: filepath.Join(t.TempDir(), "usb-adapter"), far: far, latency: latency, faults: map[string][]fault{}}
	far.switchOn()
	p.plug()
	t.Cleanup(func() {
		p.unplug()
		for _, what := range p.spokenOver {
			if !p.hurried {
				t.Error(what)
			}
		}
	})
	return p
}

// plug plugs the adapter in again.
func (p *port) plug() {
	p.t.Helper()
	pair, err := pty.Open()
	if err != nil {
		p.t.Fatal(err)
	}
	p.pair, p.served = pair, make(chan struct{})
	if err := pty.Link(pair.Path, p.name); err != nil {
		p.t.Fatal(err)
	}
	go p.serve(pair, p.served)
}

// unplug pulls the adapter. It may be called twice.
func (p *port) unplug() {
	if p.pair == nil {
		return
	}
	_ = p.pair.Unplug() // ends serve either way
	<-p.served
	_ = os.Remove(p.name)
	p.pair, p.arrived, p.waiting = nil, "", nil
}

// serve lets the instrument listen and speak until the port is unplugged.
func (p *port) serve(pair *pty.Pair, served chan<- struct{}) {
	defer close(served)
	chunk := make([]byte, 256)
	for {
		if pair.SetReadDeadline(p.nextDue()) != nil {
			return
		}
		n, err := pair.Read(chunk)
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
		p.mu.Lock()
		p.hear(string(chunk[:n]))
		err = p.speak(pair)
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// nextDue returns when the next reply is to go out, or no time.
func (p *port) nextDue() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) == 0 {
		return time.Time{}
	}
	return p.waiting[0].due
}

func (p *port) hear(piece string) {
	p.arrived += piece
	for {
		n := p.far.cut(p.arrived)
		if n == 0 {
			return
		}
		request := p.arrived[:n]
		p.arrived = p.arrived[n:]
		// A reply that is overdue is late because this computer is busy.
		if now := time.Now(); slices.ContainsFunc(p.waiting, func(u utterance) bool { return !u.spoilt && u.due.After(now) }) {
			last := p.journal[len(p.journal)-1]
			p.spokenOver = append(p.spokenOver, fmt.Sprintf("%q came before the reply to %q, %q", request, last.request, last.reply))
		}
		u := utterance{data: p.far.answer(request), due: time.Now().Add(p.latency)}
		if faults := p.faults[request]; len(faults) > 0 {
			p.faults[request] = faults[1:]
			if faults[0].say != nil {
				u.data = faults[0].say(u.data)
			}
			u.due, u.spoilt = u.due.Add(faults[0].late), faults[0].late > 0
		}
		p.journal = append(p.journal, exchange{request: request, reply: u.data, at: time.Now()})
		if u.data != "" {
			p.waiting = append(p.waiting, u)
			slices.SortStableFunc(p.waiting, func(a, b utterance) int { return a.due.Compare(b.due) })
		}
	}
}

// speak sends the replies that are due.
func (p *port) speak(pair *pty.Pair) error {
	for len(p.waiting) > 0 && !p.waiting[0].due.After(time.Now()) {
		u := p.waiting[0]
		p.waiting = p.waiting[1:]
		if _, err := pair.WriteString(u.data); err != nil {
			return err
		}
	}
	return nil
}

// touch lets f look at the instrument, or change it as if by its own buttons.
func (p *port) touch(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

// spoil spoils the next replies to a request, one fault each.
func (p *port) spoil(request string, faults ...fault) {
	p.touch(func() { p.faults[request] = append(p.faults[request], faults...) })
}

// said returns the journal.
func (p *port) said() []exchange {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.journal)
}

// times returns how often a request has come.
func (p *port) times(request string) int {
	n := 0
	for _, x := range p.said() {
		if x.request == request {
			n++
		}
	}
	return n
}

// gateway runs the gateway with a file from deploy/examples on this port. Its
// link is the port with the name usb-, whatever follows that.
func (p *port) gateway(file string, oldAndNew ...string) *rig.Gateway {
	p.t.Helper()
	p.hurried = !slices.Contains(oldAndNew, patient) &&
		slices.ContainsFunc(oldAndNew, func(s string) bool { return strings.HasPrefix(s, "reply_timeout") })
	return program.StartExample(p.t, file, append([]string{"/dev/serial/by-id/usb-adapter", p.name}, oldAndNew...)...)
}

// lineOf returns the length of the first line in what has arrived, with its
// end, or 0.
func lineOf(arrived, end string) int {
	i := strings.Index(arrived, end)
	if i < 0 {
		return 0
	}
	return i + len(end)
}

// left returns the faults that have not been used up.
func (p *port) left(request string) []fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.faults[request])
}
