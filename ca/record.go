package ca

import (
	"math"
	"strings"
	"sync/atomic"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/ca/cawire"
)

// A record is one role of an attribute, as a client sees it: a record of an IOC
// with its fields. It is immutable but for its cache and its warning; a new
// descriptor makes a new record.
type record struct {
	name  string
	path  gateway.Path
	role  gateway.Role
	desc  *gateway.Descriptor
	rtyp  string // the record type, such as "ai"
	value field  // VAL
	count int    // the most elements of VAL
	size  int    // bytes of a text with its NUL; the length of VAL$
	meta  cawire.Meta

	cache  encodings
	warned atomic.Bool // that clients get a part of a text
}

// The states of a bool and of a command.
var (
	boolStates    = []string{"false", "true"}
	commandStates = []string{"Idle", "Active"}
)

// newRecord maps a role of an attribute.
func newRecord(name string, d *gateway.Descriptor, role gateway.Role) *record {
	r := &record{name: name, path: d.Path, role: role, desc: d, count: 1}
	in := role == gateway.Readback
	pick := func(input, output string, t dbf) {
		r.rtyp = output
		if in {
			r.rtyp = input
		}
		r.value = field{name: "VAL", dbf: t, get: (*record).val, ranged: true}
	}
	switch {
	case d.IsArray() || d.Kind == gateway.Bytes:
		pick("aai", "aao", arrayTypes[d.Kind])
		r.count = d.MaxElements()
		if d.Kind == gateway.Bytes {
			r.count = d.Capacity()
		}
	case d.IsCommand():
		pick("bi", "bo", dbfEnum)
		r.meta.States = commandStates
	case d.Kind == gateway.Bool:
		pick("bi", "bo", dbfEnum)
		r.meta.States = boolStates
	case d.Kind == gateway.Enum && len(d.States) <= maxStates:
		pick("mbbi", "mbbo", dbfEnum)
		for _, s := range d.States {
			r.meta.States = append(r.meta.States, s.Label)
		}
	case d.Kind == gateway.Enum: // more states than fit: a text that must be a label
		r.text(pick, longestLabel(d.States))
	case d.Kind == gateway.String:
		r.text(pick, d.Capacity())
	case d.Kind.IsFloat():
		pick("ai", "ao", dbfDouble)
	case d.Kind.Bits() == 64 || d.Kind == gateway.Uint32:
		pick("int64in", "int64out", dbfInt64)
	default:
		pick("longin", "longout", dbfLong)
	}
	r.count = max(r.count, 1)
	r.setMeta()
	return r
}

// text chooses between the short and the long string records.
func (r *record) text(pick func(input, output string, t dbf), capacity int) {
	if capacity < cawire.StringSize {
		pick("stringin", "stringout", dbfString)
		r.size = cawire.StringSize
		return
	}
	pick("lsi", "lso", dbfString)
	r.size = capacity + 1
}

func longestLabel(states []gateway.State) int {
	longest := 0
	for _, s := range states {
		longest = max(longest, len(s.Label))
	}
	return longest
}

// setMeta fills in what GR and CTRL requests of VAL show.
func (r *record) setMeta() {
	d := r.desc
	nan := math.NaN()
	r.meta.Limits = cawire.Limits{UpperAlarm: nan, UpperWarning: nan, LowerWarning: nan, LowerAlarm: nan}
	r.meta.Precision = r.precision()
	if r.value.dbf == dbfEnum {
		// A record of this kind has no display limits, and bo alone has limits
		// for control: those of its type.
		if r.rtyp == "bo" {
			r.meta.Limits.LowerControl, r.meta.Limits.UpperControl = dbfEnum.limits()
		}
		return
	}
	if r.value.dbf == dbfString {
		return
	}
	limits := &r.meta.Limits
	r.meta.Units = d.Units
	limits.LowerDisplay, limits.UpperDisplay = d.Display.Low.Or(0), d.Display.High.Or(0)
	limits.LowerControl, limits.UpperControl = limits.LowerDisplay, limits.UpperDisplay
	if r.isOutput() && !r.isArray() {
		limits.LowerControl, limits.UpperControl = d.Control.Low.Or(0), d.Control.High.Or(0)
	}
	if r.role == gateway.Readback {
		limits.UpperAlarm, limits.UpperWarning = shown(d.Alarm.HiHi), shown(d.Alarm.High)
		limits.LowerWarning, limits.LowerAlarm = shown(d.Alarm.Low), shown(d.Alarm.LoLo)
	}
	if r.value.dbf == dbfInt64 && !r.isArray() { // base converts these to integers first
		for _, limit := range []*float64{&limits.UpperAlarm, &limits.UpperWarning, &limits.LowerWarning, &limits.LowerAlarm} {
			if math.IsNaN(*limit) {
				*limit = 0
			}
		}
	}
}

// shown returns an alarm limit as CTRL requests show it: NaN if it is not active.
func shown(l gateway.Level) float64 {
	if !l.Set || l.Severity == gateway.NoAlarm {
		return math.NaN()
	}
	return l.Value
}

// defaultPrecision is what a float without a precision of its own shows.
const defaultPrecision = 6

// precision is PREC.
func (r *record) precision() int16 {
	switch {
	case r.desc.PrecisionSet:
		return int16(min(max(r.desc.Precision, 0), 17))
	case r.desc.Kind.IsFloat():
		return defaultPrecision
	default:
		return 0
	}
}

// isOutput tells whether clients may put.
func (r *record) isOutput() bool { return r.role == gateway.Setpoint }

func (r *record) isArray() bool { return strings.HasPrefix(r.rtyp, "aa") }

// isLong tells whether VAL is a long string, of which VAL$ has what there is.
func (r *record) isLong() bool { return strings.HasPrefix(r.rtyp, "ls") }

// val is the value of the record's role; the zero Value if nothing is known.
func (r *record) val(a *gateway.Attribute) gateway.Value {
	if s := a.Sample(r.role); s != nil {
		return s.Value
	}
	return gateway.Value{}
}

// overflows tells whether a value has a text that DBR_STRING cuts.
func (r *record) overflows(v gateway.Value) bool {
	switch v.Kind() {
	case gateway.Enum:
		return r.value.dbf == dbfString && len(r.label(v)) >= cawire.StringSize
	case gateway.String:
		for i := range v.Len() {
			if len(v.At(i).Text()) >= cawire.StringSize {
				return true
			}
		}
	}
	return false
}

// sameShape tells whether a channel of r can go on with next: it is of the same
// type, whether clients may put or not.
func (r *record) sameShape(next *record) bool {
	return groups[r.rtyp] == groups[next.rtyp] && r.value.dbf == next.value.dbf && r.count == next.count && r.size == next.size
}

// sameMeta tells whether next shows the same properties, so that clients need
// not hear of it.
func (r *record) sameMeta(next *record) bool {
	a, b := &r.meta, &next.meta
	if a.Units != b.Units || a.Precision != b.Precision || len(a.States) != len(b.States) || !sameLimits(&a.Limits, &b.Limits) {
		return false
	}
	for i := range a.States {
		if a.States[i] != b.States[i] {
			return false
		}
	}
	return true
}

func sameLimits(a, b *cawire.Limits) bool {
	same := func(x, y float64) bool { return x == y || math.IsNaN(x) && math.IsNaN(y) }
	return same(a.UpperDisplay, b.UpperDisplay) && same(a.LowerDisplay, b.LowerDisplay) &&
		same(a.UpperAlarm, b.UpperAlarm) && same(a.UpperWarning, b.UpperWarning) &&
		same(a.LowerWarning, b.LowerWarning) && same(a.LowerAlarm, b.LowerAlarm) &&
		same(a.UpperControl, b.UpperControl) && same(a.LowerControl, b.LowerControl)
}
