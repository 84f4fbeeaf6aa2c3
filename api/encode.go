package api

import (
	"strconv"
	"time"

	"github.com/polygate/gateway"
)

// appendAttribute writes an attribute or command with all that is known of it.
// The descriptor comes encoded, since it hardly ever changes.
func appendAttribute(dst []byte, a *gateway.Attribute, descriptor []byte, opts gateway.JSONOptions) []byte {
	return appendAttributeMembers(append(dst, '{'), a, descriptor, opts)
}

// appendAttributeMembers leaves the opening brace to the caller, who may have
// members of its own to put first.
func appendAttributeMembers(dst []byte, a *gateway.Attribute, descriptor []byte, opts gateway.JSONOptions) []byte {
	dst = append(dst, `"name":`...)
	dst = gateway.AppendJSONString(dst, string(a.Path))
	if a.Readback != nil {
		dst = append(dst, ',')
		dst = appendSample(dst, a, gateway.Readback, opts)
	}
	if a.Setpoint != nil {
		dst = append(dst, `,"setpoint":{`...)
		dst = appendSample(dst, a, gateway.Setpoint, opts)
		dst = append(dst, '}')
	}
	dst = appendAvailability(dst, a)
	if descriptor != nil {
		dst = append(dst, `,"descriptor":`...)
		dst = append(dst, descriptor...)
	}
	return append(dst, '}')
}

// appendSample writes the members of a sample, without braces around them.
func appendSample(dst []byte, a *gateway.Attribute, role gateway.Role, opts gateway.JSONOptions) []byte {
	sample := a.Sample(role)
	dst = append(dst, `"value":`...)
	dst = a.AppendJSON(dst, sample.Value, opts)
	if sample.Value.Kind() == gateway.Enum {
		dst = append(dst, `,"index":`...)
		dst = strconv.AppendInt(dst, int64(sample.Value.Index()), 10)
	}
	dst = append(dst, `,"time":`...)
	dst = appendTime(dst, sample.Time.Std())
	if sample.LastGood != sample.Time {
		dst = append(dst, `,"last_good":`...)
		dst = appendTime(dst, sample.LastGood.Std())
	}
	dst = append(dst, `,"alarm":`...)
	dst = appendAlarm(dst, a.EffectiveAlarm(role))
	dst = append(dst, `,"seq":`...)
	return strconv.AppendUint(dst, sample.Seq, 10)
}

func appendAlarm(dst []byte, alarm gateway.Alarm) []byte {
	dst = append(dst, `{"severity":"`...)
	dst = append(dst, alarm.Severity.String()...)
	dst = append(dst, `","status":"`...)
	dst = append(dst, alarm.Status.String()...)
	dst = append(dst, '"')
	if alarm.Text != "" {
		dst = append(dst, `,"text":`...)
		dst = gateway.AppendJSONString(dst, alarm.Text)
	}
	return append(dst, '}')
}

func appendAvailability(dst []byte, a *gateway.Attribute) []byte {
	dst = append(dst, `,"availability":{"state":"`...)
	dst = append(dst, a.Availability.String()...)
	dst = append(dst, `","since":`...)
	dst = appendTime(dst, a.AvailableSince)
	if a.Words != "" {
		dst = append(dst, `,"words":`...)
		dst = gateway.AppendJSONString(dst, a.Words)
	}
	return append(dst, '}')
}

// appendTime writes RFC 3339 in UTC with all nine digits, so that times sort as
// text, and null for no time.
func appendTime(dst []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(dst, "null"...)
	}
	dst = append(dst, '"')
	dst = t.UTC().AppendFormat(dst, "2006-01-02T15:04:05.000000000Z")
	return append(dst, '"')
}
