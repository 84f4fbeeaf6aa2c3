package api

import (
	"sync"
	"sync/atomic"

	"github.com/polygate/gateway"
)

// cache holds the newest encodings of attributes, so that a sample is encoded
// once however many clients read or watch it. A snapshot that the hub gives
// out is never changed, so its address tells whether an encoding still fits.
type cache struct {
	mu      sync.RWMutex
	entries map[gateway.Path]*cached
}

// cached are the encodings of one attribute. Two goroutines may encode the same
// snapshot at once; that costs time and does no harm.
type cached struct {
	descriptor atomic.Pointer[encoding[gateway.Descriptor]]
	attribute  [formats]atomic.Pointer[encoding[gateway.Attribute]]
	readback   [formats]atomic.Pointer[encodedSample]
	setpoint   [formats]atomic.Pointer[encodedSample]
}

type encoding[T any] struct {
	of   *T
	json []byte
}

// encodedSample is the event of a sample, without the closing brace, since what
// was lost before differs from client to client.
type encodedSample struct {
	of     *gateway.Attribute
	cursor gateway.Cursor
	json   []byte
	sse    []byte // the same with the fields of an event stream, cursor included
}

// formats is the number of forms of one value; most types have one form only.
const formats = 2

func formatOf(d *gateway.Descriptor, opts gateway.JSONOptions) int {
	if opts.IntsAsText && d.Kind.IsInteger() && d.Kind.Bits() == 64 {
		return 1
	}
	return 0
}

func newCache() *cache { return &cache{entries: map[gateway.Path]*cached{}} }

func (c *cache) entry(path gateway.Path) *cached {
	c.mu.RLock()
	entry := c.entries[path]
	c.mu.RUnlock()
	if entry != nil {
		return entry
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	entry = c.entries[path]
	if entry == nil {
		entry = &cached{}
		c.entries[path] = entry
	}
	return entry
}

// forget drops what is kept of an attribute that no longer exists.
func (c *cache) forget(path gateway.Path) {
	c.mu.RLock()
	_, known := c.entries[path]
	c.mu.RUnlock()
	if !known {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, path)
}

// attribute returns an attribute with its descriptor as JSON. The result is
// shared and must not be changed.
func (c *cache) attribute(a *gateway.Attribute, opts gateway.JSONOptions) ([]byte, error) {
	entry := c.entry(a.Path)
	slot := &entry.attribute[formatOf(a.Descriptor, opts)]
	if known := slot.Load(); known != nil && known.of == a {
		return known.json, nil
	}
	descriptor, err := entry.encodeDescriptor(a.Descriptor)
	if err != nil {
		return nil, err
	}
	data := appendAttribute(make([]byte, 0, 512+len(descriptor)), a, descriptor, opts)
	slot.Store(&encoding[gateway.Attribute]{a, data})
	return data, nil
}

// descriptor returns a descriptor as JSON, which is shared and must not be changed.
func (c *cache) descriptor(a *gateway.Attribute) ([]byte, error) {
	return c.entry(a.Path).encodeDescriptor(a.Descriptor)
}

func (c *cached) encodeDescriptor(d *gateway.Descriptor) ([]byte, error) {
	if known := c.descriptor.Load(); known != nil && known.of == d {
		return known.json, nil
	}
	data, err := encodeDescriptor(d)
	if err != nil {
		return nil, err
	}
	c.descriptor.Store(&encoding[gateway.Descriptor]{d, data})
	return data, nil
}

// sample returns the encodings of an event about one role. They are shared and
// must not be changed.
func (c *cache) sample(e *gateway.Event, opts gateway.JSONOptions) *encodedSample {
	a, entry := e.Attribute, c.entry(e.Attribute.Path)
	slots := &entry.readback
	if e.Role == gateway.Setpoint {
		slots = &entry.setpoint
	}
	slot := &slots[formatOf(a.Descriptor, opts)]
	known := slot.Load()
	if known != nil && known.of == a && known.cursor == e.Cursor {
		return known
	}
	data := appendFields(make([]byte, 0, 320), e)
	fields := len(data)
	data = append(data, `{"event":"sample","name":`...)
	data = gateway.AppendJSONString(data, string(a.Path))
	data = append(data, `,"role":"`...)
	data = append(data, e.Role.String()...)
	data = append(data, `",`...)
	data = appendSample(data, a, e.Role, opts)
	encoded := &encodedSample{of: a, cursor: e.Cursor, json: data[fields:], sse: data}
	if known == nil || !e.Sample().Time.Before(known.of.Sample(e.Role).Time) {
		// A reader that is behind must not take the newest from the others.
		slot.Store(encoded)
	}
	return encoded
}
