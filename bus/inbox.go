package bus

import (
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go"

	"github.com/polygate/gateway"
)

// An inbox is the one channel into which all subscriptions of a receiver
// deliver, together with changes of the connection. nats.go runs a goroutine for
// each subscription with a callback, which would let messages overtake each other.
type inbox struct {
	// msgs holds messages in the order in which the connection delivered
	// them. A nil one says: look at states, or for loss.
	msgs chan *nats.Msg
	done chan struct{} // closed when nobody reads msgs any more
	once sync.Once

	mu     sync.Mutex
	states []gateway.BusState // one for each nil in msgs that deliver put there

	// suspect is set when a message was dropped because msgs was full.
	suspect atomic.Bool

	// The rest belongs to the reader.
	subs []*nats.Subscription
	lost uint64 // messages reported as dropped so far
	// behind is set from a loss until msgs was empty: nats.go reports only
	// the first of a series.
	behind bool
}

func newInbox(capacity int) *inbox {
	return &inbox{msgs: make(chan *nats.Msg, capacity), done: make(chan struct{})}
}

func (in *inbox) subscribe(nc *nats.Conn, subject string) (*nats.Subscription, error) {
	sub, err := nc.ChanSubscribe(subject, in.msgs)
	if err == nil {
		in.subs = append(in.subs, sub)
	}
	return sub, err
}

// deliver puts a change of the connection behind the messages that came before
// it. It waits for room.
func (in *inbox) deliver(state gateway.BusState) {
	in.mu.Lock()
	in.states = append(in.states, state)
	in.mu.Unlock()
	select {
	case in.msgs <- nil:
	case <-in.done:
	}
}

func (in *inbox) takeState() (gateway.BusState, bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.states) == 0 {
		return gateway.BusState{}, false
	}
	state := in.states[0]
	in.states = in.states[1:]
	return state, true
}

// suspectLoss makes the reader look for lost messages.
func (in *inbox) suspectLoss() {
	in.suspect.Store(true)
	select {
	case in.msgs <- nil:
	default: // the reader has enough to wake up for
	}
}

// newLoss returns how many messages were lost since it was last asked.
func (in *inbox) newLoss() uint64 {
	total := uint64(0)
	for _, sub := range in.subs {
		if dropped, err := sub.Dropped(); err == nil {
			total += uint64(dropped)
		}
	}
	if total <= in.lost {
		return 0
	}
	loss := total - in.lost
	in.lost = total
	return loss
}

// takeLoss returns how many messages were newly lost, looking only when there
// is reason to.
func (in *inbox) takeLoss() uint64 {
	caughtUp := in.behind && len(in.msgs) == 0
	if !caughtUp && !in.suspect.Load() {
		return 0
	}
	in.suspect.Store(false)
	loss := in.newLoss()
	in.behind = loss > 0
	return loss
}

func (in *inbox) close() { in.once.Do(func() { close(in.done) }) }
