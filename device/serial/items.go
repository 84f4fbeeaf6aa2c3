package serial

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device/describe"
	"github.com/polygate/gateway/device/stream"
)

// attribute compiles one attribute, groups already expanded.
func (k *compiler) attribute(e *entry[Attribute]) {
	a, at := &e.what, e.at
	if a.Poll < 0 || a.Poll > maxDuration {
		at.In("poll").Errorf("%v: want a time up to %v", a.Poll, maxDuration)
	}
	checkExtra(a.ExtraInput, at)
	d := a.Build(k.device+"."+e.name, a.Poll, at)
	it := item{codec: k.codec(a, &d.Type, at)}
	it.source = k.source(a, &d, it.codec, at.In("simulate"))
	index := len(k.plan.items)
	if len(a.Read) > 0 {
		it.exchange = k.request(a.Read, at.In("read"))
		if f := k.format(a.Reply, a, stream.In, at.In("reply")); f != nil && it.exchange != nil {
			it.fed = k.feedOne(it.exchange, f, it.codec, index, a.Poll, a.MaxAge, at.In("reply"))
		}
	} else {
		k.withoutRead(a, at)
	}
	if a.Listen != "" {
		k.listens(at.In("listen"))
		if f := k.format(a.Listen, a, stream.In, at.In("listen")); f != nil {
			if t, ok := k.single(f, it.codec, index, at.In("listen")); ok {
				k.plan.listeners = append(k.plan.listeners, t)
				it.fed = true
			}
		}
	}
	if len(a.Write) > 0 {
		it.write = k.write(it.codec, a, at)
	}
	k.access(a, &d, at)
	it.readBack = it.exchange != nil && (a.ReadBack == nil || *a.ReadBack)
	switch a.OnConnect {
	case "", "read":
	case "push":
		it.connect = connectPush
	case "none":
		it.connect = connectNone
	default:
		at.In("on_connect").Errorf("%q is none of read, push and none", a.OnConnect)
	}
	k.add(d, e.name, it, at)
}

// withoutRead reports settings that make no sense where nothing is read.
func (k *compiler) withoutRead(a *Attribute, at describe.Place) {
	for _, s := range []struct {
		key string
		set bool
	}{{"reply", a.Reply != ""}, {"poll", a.Poll != 0}, {"max_age", a.MaxAge != 0 && a.Listen == ""}} {
		if s.set {
			at.In(s.key).Errorf("without read there is nothing that this could be about")
		}
	}
}

// access reports an access that does not go with what is read and written.
func (k *compiler) access(a *Attribute, d *gateway.Descriptor, at describe.Place) {
	if d.CanWrite() && len(a.Write) == 0 {
		at.In("access").Errorf("access %s needs write: the request that sets the value, such as write: \"X=%%f\"", d.Access)
	}
	if !d.CanWrite() && len(a.Write) > 0 {
		at.In("write").Errorf("access r cannot be written; with write, access is w or rw")
	}
	if !d.CanRead() && len(a.Read) > 0 {
		at.In("read").Errorf("access w is never read; with read, access is r or rw")
	}
	if d.Access != gateway.AccessReadWrite && a.OnConnect != "" {
		at.In("on_connect").Errorf("only an rw attribute has both a setpoint and a readback")
	}
}

// unread reports a readable attribute that no reply and no line feeds.
func (k *compiler) unread(e *entry[Attribute]) {
	index, ok := k.byName[e.name]
	if !ok {
		return
	}
	d, it := &k.plan.model.Attributes[index], &k.plan.items[index]
	k.toggle(&e.what, d, it, e.at.In("toggle"))
	if d.CanRead() && !it.fed && len(e.what.Read) == 0 && e.what.Listen == "" {
		e.at.Errorf("nothing reads it: it needs read and reply, listen, or a place in the values of a query")
	}
	if it.exchange != nil && d.Poll == 0 {
		d.Poll = it.exchange.period
	}
}

// format compiles a format that one attribute's value goes through.
func (k *compiler) format(text string, a *Attribute, d stream.Direction, at describe.Place) *stream.Format {
	o := stream.Options{Direction: d}
	if d == stream.In {
		o = k.input(a.ExtraInput)
	}
	if len(a.Shape) > 0 {
		o.Array, o.Separator, o.Elements = true, a.Separator, a.Elements
	} else if a.Separator != "" || a.Elements != 0 {
		at.Errorf("separator and elements belong to an array, which has a shape")
		return nil
	}
	return parse(text, o, at)
}

// single makes the target of a format with one value.
func (k *compiler) single(f *stream.Format, c *codec, index int, at describe.Place) (target, bool) {
	fields := f.Fields()
	if len(fields) != 1 {
		at.Errorf("%d values where one is needed: %%*d skips one, and a query can read several attributes", len(fields))
		return target{}, false
	}
	if fields[0].Compare {
		at.ErrorAt(fields[0].Offset, "there is no value to compare with: %%= belongs into the reply to a write")
		return target{}, false
	}
	if err := c.check(&fields[0], stream.In); err != nil {
		at.ErrorAt(fields[0].Offset, "%v", err)
		return target{}, false
	}
	return target{format: f, fields: fields, values: []value{{index: index, codec: c}}, leading: leading(f.String())}, true
}

func (k *compiler) feedOne(x *exchange, f *stream.Format, c *codec, index int, poll, maxAge time.Duration, at describe.Place) bool {
	t, ok := k.single(f, c, index, at)
	if ok {
		x.feed(t, poll, maxAge)
	}
	return ok
}

// codec compiles how values of a type look to the instrument.
func (k *compiler) codec(a *Attribute, t *gateway.Type, at describe.Place) *codec {
	c := &codec{typ: *t, signBits: a.SignBits, scale: a.Scale.Or(1), offset: a.Offset.Or(0), scaled: a.Scale.Set || a.Offset.Set}
	c.typ.Control = gateway.Range{}
	c.element = c.typ
	c.element.Shape = nil
	if c.scaled && !t.Kind.IsNumber() && t.Kind != gateway.NoKind {
		at.In("scale").Errorf("only a number has scale and offset, this is %s", t.Kind)
	}
	if c.scale == 0 || math.IsNaN(c.scale) || math.IsInf(c.scale, 0) || math.IsNaN(c.offset) || math.IsInf(c.offset, 0) {
		at.In("scale").Errorf("scale %v and offset %v make no number", c.scale, c.offset)
	}
	if a.SignBits < 0 || a.SignBits > 64 || a.SignBits > 0 && !t.Kind.IsNumber() && t.Kind != gateway.NoKind {
		at.In("sign_bits").Errorf("%d: want the 1 to 64 bits of a number", a.SignBits)
	}
	c.states = rawStates(t.States, func(i int, raw string) string {
		return string(literal(raw, "a raw value", at.In("states", fmt.Sprint(i), "raw")))
	})
	for i := range a.Special {
		c.special = append(c.special, k.special(&a.Special[i], t, at.In("special", fmt.Sprint(i))))
	}
	return c
}

func (k *compiler) special(s *Special, t *gateway.Type, at describe.Place) special {
	built := special{text: s.Text, above: gateway.Limit(s.Above), below: gateway.Limit(s.Below)}
	if s.Text == "" && !s.Above.Set && !s.Below.Set {
		at.Errorf("a special reply needs text, above or below")
	}
	if (s.Above.Set || s.Below.Set) && !t.Kind.IsNumber() {
		at.Errorf("above and below need a number, this is %s", t.Kind)
	}
	built.alarm = gateway.Alarm{Severity: gateway.Invalid, Status: gateway.StatusRead, Text: "special reply"}
	if s.Text != "" {
		built.alarm.Text = "the device says " + s.Text
	}
	if s.Severity != "" {
		severity, ok := gateway.ParseSeverity(s.Severity)
		if !ok {
			at.In("severity").Errorf("%q is none of NO_ALARM, MINOR, MAJOR and INVALID", s.Severity)
		}
		built.alarm.Severity = severity
	}
	if s.Status != "" {
		status, ok := gateway.ParseStatus(s.Status)
		if !ok {
			at.In("status").Errorf("%q is no alarm status such as HIHI, LOLO or READ", s.Status)
		}
		built.alarm.Status = status
	}
	values := map[string]float64{"nan": math.NaN(), "inf": math.Inf(1), "+inf": math.Inf(1), "-inf": math.Inf(-1)}
	switch f, known := values[s.Value]; {
	case s.Value == "":
		if built.alarm.Severity != gateway.Invalid {
			at.Errorf("without a value the reading has failed, which is INVALID")
		}
	case !known:
		at.In("value").Errorf("%q is none of nan, inf and -inf", s.Value)
	case !t.Kind.IsFloat():
		at.In("value").Errorf("only a float can be %s, this is %s", s.Value, t.Kind)
	default:
		built.value, _ = (&gateway.Type{Kind: t.Kind}).FromFloat(f)
	}
	if built.alarm.Severity == gateway.NoAlarm {
		built.alarm = gateway.Alarm{}
	}
	return built
}

// query compiles a request that feeds several attributes.
func (k *compiler) query(e *entry[Query]) {
	q, at := &e.what, e.at
	checkExtra(q.ExtraInput, at)
	text, key := q.Reply, "reply"
	if q.Listen != "" {
		text, key = q.Listen, "listen"
		k.listens(at.In(key))
	}
	if (len(q.Read) == 0) == (q.Listen == "") {
		at.Errorf("a query has either read and reply, or listen")
		return
	}
	f := parse(text, k.input(q.ExtraInput), at.In(key))
	if f == nil {
		return
	}
	t := target{format: f, fields: f.Fields(), leading: leading(text)}
	if len(t.fields) != len(q.Values) {
		at.In(key).Errorf("%d converters for %d values: %%*d skips one", len(t.fields), len(q.Values))
		return
	}
	var x *exchange
	if len(q.Read) > 0 {
		if x = k.request(q.Read, at.In("read")); x == nil {
			return
		}
	}
	for i, name := range q.Values {
		if t.fields[i].Compare {
			at.In(key).ErrorAt(t.fields[i].Offset, "there is no value to compare with: %%= belongs into the reply to a write")
			return
		}
		if v, ok := k.queryValue(e.base, name, &t.fields[i], x, at.In("values", fmt.Sprint(i))); ok {
			v.field = i
			t.values = append(t.values, v)
		}
	}
	if x == nil {
		k.plan.listeners = append(k.plan.listeners, t)
		return
	}
	x.feed(t, q.Poll, q.MaxAge)
}

// queryValue finds the attribute that a query's value belongs to.
func (k *compiler) queryValue(base, name string, field *stream.Field, x *exchange, at describe.Place) (value, bool) {
	index, ok := k.byName[base+name]
	if !ok {
		var names []string
		for n := range k.byName {
			names = append(names, n)
		}
		slices.Sort(names)
		at.Errorf("there is no attribute %q%s", base+name, describe.DidYouMean(base+name, names))
		return value{}, false
	}
	it, d := &k.plan.items[index], &k.plan.model.Attributes[index]
	switch {
	case !d.CanRead():
		at.Errorf("%s is never read: its access is %s", base+name, d.Access)
		return value{}, false
	case it.codec.typ.IsArray():
		at.Errorf("%s is an array, which needs a read and a reply of its own", base+name)
		return value{}, false
	case x != nil && it.exchange != nil:
		at.Errorf("%s is read by another request already", base+name)
		return value{}, false
	}
	if err := it.codec.check(field, stream.In); err != nil {
		at.Errorf("%v", err)
		return value{}, false
	}
	it.fed = true
	if x != nil {
		it.exchange, it.readBack = x, true
	}
	return value{index: index, codec: it.codec}, true
}
