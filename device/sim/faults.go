package sim

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// A FaultKind is a way in which an instrument misbehaves.
type FaultKind uint8

// The faults.
const (
	Silent  FaultKind = iota + 1 // the reply is not sent
	Late                         // the reply, and all that follows, is sent after Delay
	Held                         // the reply is sent together with the next one, before it
	Half                         // the first half of the reply is sent, without a terminator
	Garbled                      // the reply's bytes are changed
	Extra                        // the line Text is sent before the reply
	Echo                         // the request is sent before the reply
	Unplug                       // the line goes away
)

// A Fault makes an instrument misbehave for the next requests of some kind.
type Fault struct {
	Kind    FaultKind
	Request string        // how the requests begin; every one does with ""
	Times   int           // how often; 0 is once, -1 until Clear
	Delay   time.Duration // of Late
	Text    string        // of Extra
}

// Faults are the faults that wait for their request. The zero value is ready;
// its methods may be called from any goroutine, and those of a nil Faults do nothing.
type Faults struct {
	mu      sync.Mutex
	waiting []Fault
}

// Inject adds a fault behind those that wait already.
func (f *Faults) Inject(fault Fault) {
	if fault.Times == 0 {
		fault.Times = 1
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiting = append(f.waiting, fault)
}

// Clear removes all faults.
func (f *Faults) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiting = nil
}

// take returns the first fault that applies to the request.
func (f *Faults) take(request string) (Fault, bool) {
	if f == nil {
		return Fault{}, false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.waiting {
		fault := f.waiting[i]
		if !strings.HasPrefix(request, fault.Request) {
			continue
		}
		if fault.Times > 0 {
			f.waiting[i].Times--
			if f.waiting[i].Times == 0 {
				f.waiting = slices.Delete(f.waiting, i, i+1)
			}
		}
		return fault, true
	}
	return Fault{}, false
}
