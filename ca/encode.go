package ca

import (
	"math"
	"sync/atomic"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/ca/cawire"
)

// A target is what a channel is: a field of a record, maybe as characters.
type target struct {
	rec   *record
	field field
	long  bool // the name ended in '$'
	isVal bool
}

// resolve finds the field; false if the record has no such field, or if '$' was
// asked of one that is no text.
func (r *record) resolve(name string, long bool) (target, bool) {
	f, ok := r.field(name)
	if !ok || long && (f.dbf != dbfString || r.isArray() && f.name == "VAL") {
		return target{}, false
	}
	return target{rec: r, field: f, long: long, isVal: f.name == "VAL"}, true
}

// native is the type that a client is told.
func (t *target) native() cawire.Type {
	if t.long {
		return cawire.DBRChar
	}
	return natives[t.field.dbf]
}

// count is the most elements that a client is told.
func (t *target) count() int {
	switch {
	case t.long:
		return t.field.size
	case t.isVal:
		return t.rec.count
	default:
		return 1
	}
}

// writable tells whether puts are taken: by the value of an output, and by PROC
// of a command and of what can be read. Other fields are what the device's
// configuration says.
func (t *target) writable() bool {
	switch {
	case t.isVal:
		return t.rec.isOutput()
	case t.field.name == "PROC":
		return t.rec.desc.IsCommand() || t.reads()
	}
	return false
}

// reads tells whether a put makes the driver read the attribute now.
func (t *target) reads() bool {
	return t.field.name == "PROC" && t.rec.desc.CanRead()
}

// A payload is an encoded value.
type payload struct {
	data  []byte // padded; shared, never changed
	count uint32
}

// maxZeros bounds a reply to a request for more elements than there can be, in
// bytes; the rest of it would be zeros.
const maxZeros = 1 << 20

// encode makes the payload of a type for a request of count elements; 0 is as
// many as there are. The status is not ECANormal if it cannot be done; then the
// payload is what base sends in its place.
func (t *target) encode(typ cawire.Type, count uint32, a *gateway.Attribute, scratch *cawire.Values) (payload, cawire.Status) {
	if t.isVal && !t.long && count <= 1 || count == 0 {
		if p, ok := t.rec.cache.get(t, typ, count, a); ok {
			return p, cawire.ECANormal
		}
	}
	if t.isVal && !t.long && count > 1 && int(count) == t.available(t.field.get(t.rec, a), typ) {
		// Who asks for as many as there are can have what is kept for others.
		if p, status := t.encode(typ, 0, a, scratch); status == cawire.ECANormal {
			return p, status
		}
	}
	p, status := t.encodeNow(typ, count, a, scratch)
	if status == cawire.ECANormal {
		t.rec.cache.put(t, typ, count, a, p)
	}
	return p, status
}

func (t *target) encodeNow(typ cawire.Type, count uint32, a *gateway.Attribute, scratch *cawire.Values) (payload, cawire.Status) {
	if typ.Size(count) > max(maxZeros, typ.Size(uint32(t.count()))) {
		return payload{}, cawire.ECATooLarge
	}
	n := int(count)
	var meta cawire.Meta
	values := scratch
	err := error(nil)
	switch typ {
	case cawire.DBRPutAckT, cawire.DBRPutAckS:
		err = cawire.ErrBadType
	case cawire.DBRClassName:
		values = &cawire.Values{Strings: []string{t.rec.rtyp}}
		n = max(n, 1)
	default:
		v := t.field.get(t.rec, a)
		if count == 0 {
			n = t.available(v, typ)
		}
		meta = t.meta(a)
		err = t.convert(values, v, typ.Native(), n)
	}
	if err == nil {
		var data []byte
		if data, err = cawire.AppendDBR(make([]byte, 0, cawire.Pad(int(typ.Size(uint32(n))))), typ, uint32(n), &meta, values); err == nil {
			return payload{data: data, count: uint32(n)}, cawire.ECANormal
		}
	}
	// Zeros of the size that was asked for.
	return payload{data: make([]byte, cawire.Pad(int(typ.Size(count)))), count: count}, cawire.ECAGetFail
}

// available is how many elements a type has now.
func (t *target) available(v gateway.Value, typ cawire.Type) int {
	switch {
	case t.isVal && t.rec.isLong() && !v.Known():
		return 0
	case t.long && (t.isVal && t.rec.isLong() || typ == cawire.DBRChar || typ == cawire.DBRTimeChar):
		return t.characters(v)
	case t.long:
		return t.field.size
	case t.isVal && t.rec.isArray():
		return min(lengthOf(v), t.rec.count)
	default:
		return 1
	}
}

// characters is the length of a text with its NUL.
func (t *target) characters(v gateway.Value) int {
	return min(len(t.rec.label(v))+1, t.field.size)
}

// meta is what travels around the value of the field.
func (t *target) meta(a *gateway.Attribute) cawire.Meta {
	r := t.rec
	meta := r.meta
	if !t.isVal {
		meta = t.fieldMeta()
	}
	alarm := a.EffectiveAlarm(r.role)
	meta.Status, meta.Severity = cawire.AlarmStatus(alarm.Status), cawire.Severity(alarm.Severity)
	meta.AckT, meta.AckS = true, meta.Severity
	if s := a.Sample(r.role); s != nil {
		meta.Time = cawire.TimeStampOf(s.Time.Std())
	}
	return meta
}

// fieldMeta is that of a field beside VAL.
func (t *target) fieldMeta() cawire.Meta {
	nan := math.NaN()
	meta := cawire.Meta{States: t.field.menu, Limits: cawire.Limits{UpperAlarm: nan, UpperWarning: nan, LowerWarning: nan, LowerAlarm: nan}}
	group := groups[t.rec.rtyp]
	if t.field.dbf == dbfString || group != "number" && group != "array" {
		if group == "two" && t.rec.rtyp == "bo" {
			meta.Limits.LowerControl, meta.Limits.UpperControl = t.field.dbf.limits()
		}
		return meta
	}
	limits := &meta.Limits
	switch {
	case t.field.name == "NORD":
		limits.UpperDisplay = float64(t.rec.count)
		limits.UpperControl = limits.UpperDisplay
	case t.field.ranged:
		own := &t.rec.meta.Limits
		limits.LowerDisplay, limits.UpperDisplay = own.LowerDisplay, own.UpperDisplay
		limits.LowerControl, limits.UpperControl = own.LowerControl, own.UpperControl
	default:
		limits.LowerDisplay, limits.UpperDisplay = t.field.dbf.limits()
		limits.LowerControl, limits.UpperControl = limits.LowerDisplay, limits.UpperDisplay
	}
	if t.field.dbf == t.rec.value.dbf || t.field.dbf == dbfDouble {
		meta.Units = t.rec.meta.Units
		meta.Precision = t.rec.meta.Precision
	}
	return meta
}

// encodings keep the newest payloads of VAL, so that a sample is encoded once
// however many circuits read or watch it. A snapshot that the hub gives out is
// never changed, so its address tells whether a payload still fits. Two circuits
// may encode the same one at once; that costs time and does no harm.
type encodings struct {
	slots atomic.Pointer[[slots]atomic.Pointer[encoding]]
}

// slots has one place for each type, for a count of 0 and of 1.
const slots = 2 * (int(cawire.DBRClassName) + 1)

type encoding struct {
	of *gateway.Attribute
	payload
}

// slot returns the place of a request, or -1 if it is too rare to be kept.
func slot(t *target, typ cawire.Type, count uint32) int {
	if !t.isVal || t.long || count > 1 {
		return -1
	}
	return 2*int(typ) + int(count)
}

func (c *encodings) get(t *target, typ cawire.Type, count uint32, a *gateway.Attribute) (payload, bool) {
	i, slots := slot(t, typ, count), c.slots.Load()
	if i < 0 || slots == nil {
		return payload{}, false
	}
	if known := slots[i].Load(); known != nil && known.of == a {
		return known.payload, true
	}
	return payload{}, false
}

func (c *encodings) put(t *target, typ cawire.Type, count uint32, a *gateway.Attribute, p payload) {
	i := slot(t, typ, count)
	if i < 0 {
		return
	}
	all := c.slots.Load()
	if all == nil {
		c.slots.CompareAndSwap(nil, new([slots]atomic.Pointer[encoding]))
		all = c.slots.Load()
	}
	known := all[i].Load()
	if known != nil && older(a.Sample(t.rec.role), known.of.Sample(t.rec.role)) {
		return // a reader that is behind must not take the newest from the others
	}
	all[i].Store(&encoding{a, p})
}

func older(a, b *gateway.Sample) bool { return a != nil && b != nil && a.Time.Before(b.Time) }
