package ca

import "sync"

// A tally counts what is under way. Unlike a sync.WaitGroup it may be added to
// while somebody waits for it.
type tally struct {
	mu   sync.Mutex
	n    int
	none chan struct{} // closed when n is next 0; nil if nobody waits
}

func (t *tally) add() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n++
}

func (t *tally) done() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n--
	if t.n == 0 && t.none != nil {
		close(t.none)
		t.none = nil
	}
}

// empty returns a channel that is closed when there is nothing under way.
func (t *tally) empty() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	none := t.none
	if none == nil {
		none = make(chan struct{})
	}
	if t.n == 0 {
		close(none)
		return none
	}
	t.none = none
	return none
}
