package api

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/polygate/gateway"
)

// appendAttribute writes an attribute or command with all that is known of it.
// The descriptor comes encoded, since it hardly ever changes.
func appendAttribute(dst []byte, a *gateway.Attribute, descriptor []byte, opts gateway.JSONOptions) []byte {
	dst = append(dst, `{"name":`...)
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
	dst = appendTime(dst, sample.Time)
	if !sample.LastGood.Equal(sample.Time) {
		dst = append(dst, `,"last_good":`...)
		dst = appendTime(dst, sample.LastGood)
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

type descriptorJSON struct {
	Kind        string            `json:"kind"`
	Access      string            `json:"access"`
	Description string            `json:"description,omitempty"`
	Units       string            `json:"units,omitempty"`
	Precision   *int              `json:"precision,omitempty"`
	Shape       []int             `json:"shape,omitempty"`
	MaxLength   int               `json:"max_length,omitempty"`
	States      []stateJSON       `json:"states,omitempty"`
	Limits      *limitsJSON       `json:"limits,omitempty"`
	PollSeconds float64           `json:"poll_seconds,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Argument    *typeJSON         `json:"argument,omitempty"`
	Result      *typeJSON         `json:"result,omitempty"`
	Revision    uint64            `json:"revision"`
}

type typeJSON struct {
	Kind      string      `json:"kind"`
	Units     string      `json:"units,omitempty"`
	Shape     []int       `json:"shape,omitempty"`
	MaxLength int         `json:"max_length,omitempty"`
	States    []stateJSON `json:"states,omitempty"`
	Limits    *limitsJSON `json:"limits,omitempty"`
}

type stateJSON struct {
	Index    int    `json:"index"`
	Label    string `json:"label"`
	Raw      string `json:"raw,omitempty"`
	Severity string `json:"severity,omitempty"`
}

// limitsJSON leaves out limits that are not set.
type limitsJSON struct {
	ControlLow  *float64 `json:"control_low,omitempty"`
	ControlHigh *float64 `json:"control_high,omitempty"`
	DisplayLow  *float64 `json:"display_low,omitempty"`
	DisplayHigh *float64 `json:"display_high,omitempty"`
	LoLo        *float64 `json:"lolo,omitempty"`
	Low         *float64 `json:"low,omitempty"`
	High        *float64 `json:"high,omitempty"`
	HiHi        *float64 `json:"hihi,omitempty"`
	Hysteresis  float64  `json:"hysteresis,omitempty"`
}

func encodeDescriptor(d *gateway.Descriptor) ([]byte, error) {
	out := descriptorJSON{
		Kind: d.Kind.String(), Access: d.Access.String(), Description: d.Description, Units: d.Units,
		Shape: d.Shape, States: statesOf(&d.Type), PollSeconds: d.Poll.Seconds(), Annotations: d.Annotations,
		Revision: d.Revision, Argument: typeOf(d.Argument), Result: typeOf(d.Result),
		MaxLength: lengthOf(&d.Type),
		Limits: limitsOf(limitsJSON{
			ControlLow: number(d.Control.Low), ControlHigh: number(d.Control.High),
			DisplayLow: number(d.Display.Low), DisplayHigh: number(d.Display.High),
			LoLo: number(d.Alarm.LoLo.Limit), Low: number(d.Alarm.Low.Limit),
			High: number(d.Alarm.High.Limit), HiHi: number(d.Alarm.HiHi.Limit),
			Hysteresis: d.Alarm.Hysteresis,
		}),
	}
	if d.PrecisionSet {
		out.Precision = &d.Precision
	}
	return json.Marshal(out)
}

func typeOf(t *gateway.Type) *typeJSON {
	if t == nil {
		return nil
	}
	return &typeJSON{
		Kind: t.Kind.String(), Units: t.Units, Shape: t.Shape, States: statesOf(t), MaxLength: lengthOf(t),
		Limits: limitsOf(limitsJSON{ControlLow: number(t.Control.Low), ControlHigh: number(t.Control.High)}),
	}
}

// lengthOf tells the capacity of what has one.
func lengthOf(t *gateway.Type) int {
	if t.Kind == gateway.String || t.Kind == gateway.Bytes {
		return t.Capacity()
	}
	return 0
}

func statesOf(t *gateway.Type) []stateJSON {
	states := make([]stateJSON, 0, len(t.States))
	for i, s := range t.States {
		state := stateJSON{Index: i, Label: s.Label, Raw: s.Raw}
		if s.Severity != gateway.NoAlarm {
			state.Severity = s.Severity.String()
		}
		states = append(states, state)
	}
	return states
}

func number(l gateway.Limit) *float64 {
	if !l.Set {
		return nil
	}
	return &l.Value
}

func limitsOf(l limitsJSON) *limitsJSON {
	if l == (limitsJSON{}) {
		return nil
	}
	return &l
}

func appendDevice(dst []byte, d *gateway.Device) ([]byte, error) {
	data, err := json.Marshal(struct {
		Name        string            `json:"name"`
		Description string            `json:"description,omitempty"`
		Driver      string            `json:"driver"`
		Link        string            `json:"link,omitempty"`
		State       string            `json:"state"`
		Since       json.RawMessage   `json:"since"`
		Words       string            `json:"words,omitempty"`
		Attributes  int               `json:"attributes"`
		Stale       int               `json:"stale"`
		Annotations map[string]string `json:"annotations,omitempty"`
	}{
		d.Name, d.Description, d.Driver, d.Link, d.Availability.String(), appendTime(nil, d.Since), d.Words,
		d.Attributes, d.Stale, d.Annotations,
	})
	return append(dst, data...), err
}
