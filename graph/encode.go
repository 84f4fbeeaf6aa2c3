package graph

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/graph/model"
)

var _ model.Encoder = (*Server)(nil)

// AppendEvents writes the field `batch`: the events as a JSON list, with the names
// that the schema has for the same things.
func (s *Server) AppendEvents(dst []byte, events []gateway.Event) []byte {
	dst = append(dst, '[')
	for i := range events {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = s.appendEvent(dst, &events[i])
	}
	return append(dst, ']')
}

func (s *Server) appendEvent(dst []byte, e *gateway.Event) []byte {
	switch e.Type {
	case gateway.EventSample:
		dst = append(dst, s.cache.sample(e.Attribute, e.Role)...)
		dst = appendChanges(dst, e.Mask)
		if e.Lost > 0 {
			dst = strconv.AppendUint(append(dst, `,"lost":`...), uint64(e.Lost), 10)
		}
		return append(dst, '}')
	case gateway.EventRemoved:
		s.cache.forget(e.Attribute.Path)
		return append(appendHead(dst, e), '}')
	case gateway.EventSynced, gateway.EventGap:
		return append(appendHead(dst, e), '}')
	}
	dst = appendHead(dst, e)
	for _, role := range [...]gateway.Role{gateway.Readback, gateway.Setpoint} {
		if e.Attribute.Sample(role) != nil {
			dst = append(append(append(dst, `,"`...), role.String()...), `":`...)
			dst = appendSample(dst, e.Attribute, role)
		}
	}
	dst = appendAvailability(dst, e.Attribute)
	if e.Type != gateway.EventAvailability {
		dst = append(dst, `,"descriptor":`...)
		dst = appendDescriptor(dst, e.Attribute.Descriptor)
	}
	return append(dst, '}')
}

func appendHead(dst []byte, e *gateway.Event) []byte {
	dst = append(dst, `{"type":"`...)
	dst = append(dst, strings.ToUpper(e.Type.String())...)
	dst = append(dst, '"')
	if e.Attribute != nil {
		dst = gateway.AppendJSONString(append(dst, `,"name":`...), string(e.Attribute.Path))
	}
	return dst
}

// maskTexts are the changes of all 16 masks.
var maskTexts = func() (texts [gateway.MaskAll + 1]string) {
	names := [...]string{"VALUE", "LOG", "ALARM", "PROPERTY"}
	for mask := range texts {
		var set []string
		for bit, name := range names {
			if mask>>bit&1 == 1 {
				set = append(set, strconv.Quote(name))
			}
		}
		texts[mask] = `,"changes":[` + strings.Join(set, ",") + "]"
	}
	return texts
}()

func appendChanges(dst []byte, m gateway.Mask) []byte {
	return append(dst, maskTexts[m&gateway.MaskAll]...)
}

func appendSample(dst []byte, a *gateway.Attribute, role gateway.Role) []byte {
	sample := a.Sample(role)
	dst = a.AppendJSON(append(dst, `{"value":`...), sample.Value, gateway.JSONOptions{})
	if sample.Value.Kind() == gateway.Enum {
		dst = strconv.AppendInt(append(dst, `,"index":`...), int64(sample.Value.Index()), 10)
	}
	dst = appendTime(append(dst, `,"time":`...), sample.Time.Std())
	if sample.LastGood != sample.Time {
		dst = appendTime(append(dst, `,"lastGood":`...), sample.LastGood.Std())
	}
	alarm := a.EffectiveAlarm(role)
	dst = append(append(dst, `,"alarm":{"severity":"`...), alarm.Severity.String()...)
	dst = append(append(dst, `","status":"`...), alarm.Status.String()...)
	dst = append(dst, '"')
	if alarm.Text != "" {
		dst = gateway.AppendJSONString(append(dst, `,"text":`...), alarm.Text)
	}
	dst = strconv.AppendUint(append(dst, `},"seq":"`...), sample.Seq, 10)
	return append(dst, `"}`...)
}

func appendAvailability(dst []byte, a *gateway.Attribute) []byte {
	dst = append(append(dst, `,"availability":{"state":"`...), strings.ToUpper(a.Availability.String())...)
	dst = appendTime(append(dst, `","since":`...), a.AvailableSince)
	if a.Words != "" {
		dst = gateway.AppendJSONString(append(dst, `,"words":`...), a.Words)
	}
	return append(dst, '}')
}

func appendTime(dst []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(dst, "null"...)
	}
	return t.UTC().AppendFormat(dst, `"`+model.TimeFormat+`"`)
}

// cache holds the newest encoding of each sample, so that it is made once however
// many clients watch it. A snapshot that the hub gives out is never changed, so
// its address tells whether an encoding still fits.
type cache struct {
	entries sync.Map // of gateway.Path to *cached
}

// cached are the encodings of one attribute. Two goroutines may encode the same
// snapshot at once; that costs time and does no harm.
type cached struct {
	readback, setpoint atomic.Pointer[encoded]
}

type encoded struct {
	of   *gateway.Attribute
	json []byte
}

// forget drops what is kept of an attribute that no longer exists.
func (c *cache) forget(path gateway.Path) { c.entries.Delete(path) }

// sample returns an event about one role without what differs from client to
// client, and without the closing brace. It is shared and must not be changed.
func (c *cache) sample(a *gateway.Attribute, role gateway.Role) []byte {
	entry, found := c.entries.Load(a.Path)
	if !found {
		entry, _ = c.entries.LoadOrStore(a.Path, &cached{})
	}
	slots, _ := entry.(*cached)
	slot, name := &slots.readback, `,"role":"READBACK","sample":`
	if role == gateway.Setpoint {
		slot, name = &slots.setpoint, `,"role":"SETPOINT","sample":`
	}
	known := slot.Load()
	if known != nil && known.of == a {
		return known.json
	}
	data := append(make([]byte, 0, 256), `{"type":"SAMPLE","name":`...)
	data = gateway.AppendJSONString(data, string(a.Path))
	data = appendSample(append(data, name...), a, role)
	if known == nil || !a.Sample(role).Time.Before(known.of.Sample(role).Time) {
		// A reader that is behind must not take the newest from the others.
		slot.Store(&encoded{a, data})
	}
	return data
}
