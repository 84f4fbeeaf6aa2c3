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
		dst = append(dst, `{"event":"sample",`...)
		dst = append(dst, s.cache.sample(e.Attribute, e.Role, opts)[1:]...)
		if e.Lost > 0 {
			dst = append(dst, `,"lost":`...)
			dst = strconv.AppendUint(dst, uint64(e.Lost), 10)
		}
		return append(dst, '}'), nil
	case gateway.EventAdded, gateway.EventDescribed:
		attribute, err := s.cache.attribute(e.Attribute, opts)
		if err != nil {
			return dst, err
		}
		return s.appendWhole(dst, e, attribute), nil
	case gateway.EventAvailability:
		// The alarms of both samples change with it, so all of it is sent.
		return s.appendWhole(dst, e, appendAttribute(nil, e.Attribute, nil, opts)), nil
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

func (s *Server) appendWhole(dst []byte, e *gateway.Event, attribute []byte) []byte {
	dst = append(dst, `{"event":"`...)
	dst = append(dst, e.Type.String()...)
	dst = append(dst, `",`...)
	return append(dst, attribute[1:]...)
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

var roles = map[string]gateway.Role{
	"": gateway.RoleBoth, "both": gateway.RoleBoth, "readback": gateway.Readback, "setpoint": gateway.Setpoint,
}

var changes = map[string]gateway.Mask{
	"value": gateway.MaskValue, "log": gateway.MaskLog, "alarm": gateway.MaskAlarm, "property": gateway.MaskProperty,
}

// lowestRate is one delivery an hour.
const lowestRate = 1.0 / 3600

func (w watchRequest) options() (gateway.WatchOptions, error) {
	if w.Match == "" {
		w.Match = ">"
	}
	match, err := gateway.ParsePattern(w.Match)
	if err != nil {
		return gateway.WatchOptions{}, err
	}
	role, known := roles[w.Role]
	if !known {
		return gateway.WatchOptions{}, gateway.Errorf(gateway.KindMalformed, "role is readback, setpoint or both, not %q", gateway.Quotable(w.Role))
	}
	options := gateway.WatchOptions{Match: match, Roles: role, Every: w.Every}
	for name := range strings.SplitSeq(w.Changes, ",") {
		mask, known := changes[name]
		if !known && w.Changes != "" {
			return gateway.WatchOptions{}, gateway.Errorf(gateway.KindMalformed, "changes are value, log, alarm, property, not %q", gateway.Quotable(name))
		}
		options.Mask |= mask
	}
	switch {
	case w.MaxRate == 0:
	case w.MaxRate >= lowestRate && w.MaxRate <= 1e6:
		options.MinInterval = time.Duration(float64(time.Second) / w.MaxRate)
	default:
		return gateway.WatchOptions{}, gateway.Errorf(gateway.KindMalformed, "max_rate is in deliveries a second, from %.4f to 1000000", lowestRate)
	}
	options.Cursor, err = gateway.ParseCursor(w.Cursor)
	return options, err
}
