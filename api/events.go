package api

import (
	"strconv"
	"strings"
	"time"

	"github.com/polygate/gateway"
)

// appendEvent writes one event as a JSON object. An SSE stream has the type in
// its own field as well; a WebSocket sends lists of these.
func (s *Server) appendEvent(dst []byte, e *gateway.Event, opts gateway.JSONOptions) ([]byte, error) {
	switch e.Type {
	case gateway.EventSample:
		return appendLost(append(dst, s.cache.sample(e, opts).json...), e), nil
	case gateway.EventAdded, gateway.EventDescribed:
		descriptor, err := s.cache.descriptor(e.Attribute)
		if err != nil {
			return dst, err
		}
		return appendWhole(dst, e, descriptor, opts), nil
	case gateway.EventAvailability:
		// The alarms of both samples change with it, so all of it is sent.
		return appendWhole(dst, e, nil, opts), nil
	case gateway.EventRemoved:
		s.cache.forget(e.Attribute.Path)
		dst = append(dst, `{"event":"removed","name":`...)
		dst = gateway.AppendJSONString(dst, string(e.Attribute.Path))
		return append(dst, '}'), nil
	default: // synced, gap
		dst = append(dst, `{"event":"`...)
		dst = append(dst, e.Type.String()...)
		return append(dst, `"}`...), nil
	}
}

// appendLost ends the event of a sample.
func appendLost(dst []byte, e *gateway.Event) []byte {
	if e.Lost > 0 {
		dst = append(dst, `,"lost":`...)
		dst = strconv.AppendUint(dst, uint64(e.Lost), 10)
	}
	return append(dst, '}')
}

func appendWhole(dst []byte, e *gateway.Event, descriptor []byte, opts gateway.JSONOptions) []byte {
	dst = append(dst, `{"event":"`...)
	dst = append(dst, e.Type.String()...)
	dst = append(dst, `",`...)
	return appendAttributeMembers(dst, e.Attribute, descriptor, opts)
}

// watchRequest is what a client may say of a watch, on SSE in the query and on
// a WebSocket as members of the message.
type watchRequest struct {
	Match   string  `json:"match"`
	Role    string  `json:"role"`     // readback, setpoint or both
	Changes string  `json:"changes"`  // value, log, alarm, property, joined with commas
	Every   bool    `json:"every"`    // also polls that changed nothing
	MaxRate float64 `json:"max_rate"` // deliveries a second
	Cursor  string  `json:"cursor"`
}

// The rates that a watch may be limited to, in deliveries a second.
const (
	lowestRate  = 1.0 / 3600
	highestRate = 1e6
)

func (w watchRequest) options() (gateway.WatchOptions, error) {
	options := gateway.WatchOptions{Match: gateway.MatchAll, Every: w.Every}
	var err error
	if w.Match != "" {
		if options.Match, err = gateway.ParsePattern(w.Match); err != nil {
			return options, err
		}
	}
	if options.Roles, err = roleOf(w.Role); err != nil {
		return options, err
	}
	if options.Mask, err = maskOf(w.Changes); err != nil {
		return options, err
	}
	switch {
	case w.MaxRate == 0:
	case w.MaxRate >= lowestRate && w.MaxRate <= highestRate:
		options.MinInterval = time.Duration(float64(time.Second) / w.MaxRate)
	default:
		return options, gateway.Errorf(gateway.KindMalformed, "max_rate is in deliveries a second, from %.4f to %.0f", lowestRate, highestRate)
	}
	options.Cursor, err = gateway.ParseCursor(w.Cursor)
	return options, err
}

func roleOf(text string) (gateway.Role, error) {
	switch text {
	case "", "both":
		return gateway.RoleBoth, nil
	case "readback":
		return gateway.Readback, nil
	case "setpoint":
		return gateway.Setpoint, nil
	}
	return 0, gateway.Errorf(gateway.KindMalformed, "role is readback, setpoint or both, not %q", gateway.Quotable(text))
}

// maskOf returns 0, which is the hub's own choice, for the empty text.
func maskOf(text string) (gateway.Mask, error) {
	if text == "" {
		return 0, nil
	}
	var mask gateway.Mask
	for name := range strings.SplitSeq(text, ",") {
		switch name {
		case "value":
			mask |= gateway.MaskValue
		case "log":
			mask |= gateway.MaskLog
		case "alarm":
			mask |= gateway.MaskAlarm
		case "property":
			mask |= gateway.MaskProperty
		default:
			return 0, gateway.Errorf(gateway.KindMalformed, "changes are value, log, alarm, property, not %q", gateway.Quotable(name))
		}
	}
	return mask, nil
}
