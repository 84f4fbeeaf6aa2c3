package api

import (
	"encoding/json"

	"github.com/polygate/gateway"
)

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
	Precision *int        `json:"precision,omitempty"`
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
		MaxLength: lengthOf(&d.Type), Precision: precisionOf(&d.Type),
		Limits: limitsOf(limitsJSON{
			ControlLow: number(d.Control.Low), ControlHigh: number(d.Control.High),
			DisplayLow: number(d.Display.Low), DisplayHigh: number(d.Display.High),
			LoLo: number(d.Alarm.LoLo.Limit), Low: number(d.Alarm.Low.Limit),
			High: number(d.Alarm.High.Limit), HiHi: number(d.Alarm.HiHi.Limit),
			Hysteresis: d.Alarm.Hysteresis,
		}),
	}
	return json.Marshal(out)
}

func typeOf(t *gateway.Type) *typeJSON {
	if t == nil {
		return nil
	}
	return &typeJSON{
		Kind: t.Kind.String(), Units: t.Units, Shape: t.Shape, States: statesOf(t), MaxLength: lengthOf(t),
		Precision: precisionOf(t),
		Limits:    limitsOf(limitsJSON{ControlLow: number(t.Control.Low), ControlHigh: number(t.Control.High)}),
	}
}

func precisionOf(t *gateway.Type) *int {
	if !t.PrecisionSet {
		return nil
	}
	return &t.Precision
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
