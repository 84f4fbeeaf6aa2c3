package graph

import (
	"encoding/json"
	"strings"

	"github.com/polygate/gateway"
)

// descriptorJSON is the part of a descriptor that `batch` shows: what is needed
// to show values. Everything else can be asked for.
type descriptorJSON struct {
	Kind        string      `json:"kind"`
	Access      string      `json:"access"`
	Description string      `json:"description,omitempty"`
	Units       string      `json:"units,omitempty"`
	Precision   *int        `json:"precision,omitempty"`
	Shape       []int       `json:"shape,omitempty"`
	States      []stateJSON `json:"states,omitempty"`
	Control     *rangeJSON  `json:"control,omitempty"`
	Display     *rangeJSON  `json:"display,omitempty"`
}

type stateJSON struct {
	Label string `json:"label"`
}

type rangeJSON struct {
	Low  *float64 `json:"low"`
	High *float64 `json:"high"`
}

var accessNames = map[gateway.Access]string{
	gateway.AccessRead: "READ", gateway.AccessWrite: "WRITE", gateway.AccessReadWrite: "READ_WRITE", gateway.AccessExecute: "EXECUTE",
}

func appendDescriptor(dst []byte, d *gateway.Descriptor) []byte {
	shown := descriptorJSON{
		Kind: strings.ToUpper(d.Kind.String()), Access: accessNames[d.Access], Description: d.Description, Units: d.Units,
		Shape: d.Shape, Control: limitsOf(d.Control), Display: limitsOf(d.Display),
	}
	if d.PrecisionSet {
		shown.Precision = &d.Precision
	}
	for _, s := range d.States {
		shown.States = append(shown.States, stateJSON{s.Label})
	}
	data, err := json.Marshal(shown)
	if err != nil {
		return append(dst, "null"...) // a limit that is no number; the rest of the batch must not suffer
	}
	return append(dst, data...)
}

func limitsOf(r gateway.Range) *rangeJSON {
	if !r.Low.Set && !r.High.Set {
		return nil
	}
	shown := &rangeJSON{}
	if r.Low.Set {
		shown.Low = &r.Low.Value
	}
	if r.High.Set {
		shown.High = &r.High.Value
	}
	return shown
}
