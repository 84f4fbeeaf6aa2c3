package serial

import (
	"slices"

	"github.com/polygate/gateway/device/stream"
)

// RawBytes reports whether requests or replies hold bytes of any value. Flow
// control by XON and XOFF would take two of them away.
func (d *Driver) RawBytes() bool {
	p := d.plan
	isRaw := func(t target) bool { return raw(t.format) }
	if slices.ContainsFunc(p.listeners, isRaw) {
		return true
	}
	for _, x := range p.exchanges {
		if slices.ContainsFunc(x.targets, isRaw) {
			return true
		}
	}
	for i := range p.items {
		if w := p.items[i].write; w != nil && slices.ContainsFunc(w.steps, func(s step) bool { return raw(s.format) || raw(s.reply) }) {
			return true
		}
	}
	return false
}

func raw(f *stream.Format) bool { return f != nil && f.HasRawBytes() }
