package hub

import "sync"

// A mailbox brings work of other goroutines to the loop, in order. It never
// grows beyond what was posted during one turn.
type mailbox struct {
	mu     sync.Mutex
	work   []func()
	spare  []func()
	closed bool
}

// put queues f and reports whether the loop will still run it.
func (m *mailbox) put(f func()) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.work = append(m.work, f)
	return true
}

// run runs what was queued before. Only the loop calls it.
func (m *mailbox) run() {
	m.mu.Lock()
	work := m.work
	m.work, m.spare = m.spare[:0], nil
	m.mu.Unlock()
	for i, f := range work {
		f()
		work[i] = nil
	}
	if cap(work) > 1024 {
		return // it was a burst
	}
	m.mu.Lock()
	m.spare = work
	m.mu.Unlock()
}

// close drops what is queued and refuses more.
func (m *mailbox) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed, m.work, m.spare = true, nil, nil
}
