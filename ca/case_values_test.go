package ca

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/ca/cawire"
	"github.com/polygate/gateway/hub/hubtest"
)

func states(n int, label func(int) string) gateway.Type {
	t := gateway.Type{Kind: gateway.Enum}
	for i := range n {
		t.States = append(t.States, gateway.State{Label: label(i)})
	}
	return t
}

func TestCA01ALabelAsShownCanBePut(t *testing.T) {
	longest := strings.Repeat("W", maxLabel)
	w := newWorld(t, attribute("mode", rw, states(2, func(i int) string { return longest[i:] })))
	c := w.dial()
	ch := c.mustOpen("X:Mode")
	meta, _, _ := c.values(ch.SID, cawire.DBRCtrlEnum, 1)
	status, err := c.write(ch.SID, cawire.DBRString, 1, encode(cawire.DBRString, 1, cawire.Values{Strings: meta.States[:1]}))
	if err != nil || status != cawire.ECANormal || meta.States[0] != longest {
		t.Errorf("putting %q: %v, %v", meta.States[0], status, err)
	}
}

func TestCA02MoreStatesThanFitAreText(t *testing.T) {
	w := newWorld(t, attribute("many", rw, states(20, func(i int) string { return "state" + string(rune('a'+i)) })))
	w.update(change("many", gateway.EnumOf(19)))
	c := w.dial()
	ch := c.mustOpen("X:Many_RBV")
	if ch.Type != cawire.DBRString {
		t.Errorf("it is a %v", ch.Type)
	}
	if got := c.text("X:Many_RBV"); got != "statet" {
		t.Errorf("state 19 is %q", got)
	}
	meta, _, reply := c.values(ch.SID, cawire.DBRCtrlEnum, 1)
	if len(meta.States) != 0 || reply.Status != cawire.ECAGetFail || len(reply.Payload) != 424 {
		t.Errorf("as an enum: %v, %d states, %d bytes", reply.Status, len(meta.States), len(reply.Payload))
	}
	put := c.mustOpen("X:Many").SID
	for text, want := range map[string]cawire.Status{"states": cawire.ECANormal, "nothing": cawire.ECAPutFail} {
		if got, err := c.write(put, cawire.DBRString, 1, encode(cawire.DBRString, 1, cawire.Values{Strings: []string{text}})); got != want || err != nil {
			t.Errorf("putting %q: %v, %v", text, got, err)
		}
	}
	if got := w.Attribute("x.many").Setpoint.Value.Index(); got != 18 {
		t.Errorf("the setpoint is state %d, want 18", got)
	}
}

func TestCA04AStateThatIsNoneIsInvalid(t *testing.T) {
	w := newWorld(t, attribute("state", r, states(4, func(i int) string { return string(rune('a' + i)) })))
	bad := change("state", gateway.EnumOf(3))
	bad.Alarm = gateway.Alarm{Severity: gateway.Invalid, Status: gateway.StatusState, Text: "7 is no state"}
	w.update(bad)
	c := w.dial()
	meta, _, _ := c.values(c.mustOpen("X:State").SID, cawire.DBRTimeEnum, 1)
	if meta.Severity != cawire.InvalidAlarm || meta.Status != cawire.StatusState {
		t.Errorf("got %v %v", meta.Severity, meta.Status)
	}
	if got := c.text("X:State.AMSG"); got != "7 is no state" {
		t.Errorf("the words are %q", got)
	}
}

func TestCA06AFailingPutLeavesTheCircuit(t *testing.T) {
	w := newWorld(t, attribute("mode", rw, states(3, func(i int) string { return []string{"idle", "resume", "reset"}[i] })))
	w.device.OnPut(func(d *hubtest.Device, p *gateway.Put) { d.Reject(p, "broken handler") })
	c := w.dial()
	ch := c.mustOpen("X:Mode")
	status, err := c.write(ch.SID, cawire.DBRString, 1, encode(cawire.DBRString, 1, cawire.Values{Strings: []string{"reset"}}))
	if status != cawire.ECAPutFail || err != nil {
		t.Errorf("got %v, %v", status, err)
	}
	if got := c.text("X:Mode"); got != "reset" {
		t.Errorf("afterwards it reads %q", got)
	}
}

func TestCA07LongTextsAreCutInAString(t *testing.T) {
	const digits = "12345678901234567890123456789012345678901234567890"
	w := newWorld(t, str("text", r, 60))
	w.update(change("text", gateway.Of(digits)))
	c := w.dial()
	reply, err := c.read(c.mustOpen("X:Text").SID, cawire.DBRString, 1)
	if err != nil || len(reply.Payload) != 40 || string(reply.Payload) != digits[:39]+"\x00" {
		t.Errorf("as a string: %q, %v", reply.Payload, err)
	}
	_, v, _ := c.values(c.mustOpen("X:Text.VAL$").SID, cawire.DBRChar, 0)
	if string(v.Chars) != digits+"\x00" {
		t.Errorf("as characters: %q", v.Chars)
	}
}

func TestCA07ACutTextIsLoggedOnce(t *testing.T) {
	w := newWorld(t, str("text", r, 60), attribute("list", r, gateway.Type{Kind: gateway.String, MaxLength: 60, Shape: []int{2}}))
	var log bytes.Buffer
	c := &circuit{log: zerolog.New(&log)}
	read := func(name string, typ cawire.Type) {
		target, _ := w.server.directory.find(name)
		c.noteCut(&channel{target: target}, typ, w.Attribute(target.rec.path))
	}
	long := strings.Repeat("x", 40)
	w.update(change("text", gateway.Of(long[:39])), change("list", gateway.ArrayOf([]string{"", long[:39]})))
	read("X:Text", cawire.DBRTimeString)
	w.update(change("text", gateway.Of(long)), change("list", gateway.ArrayOf([]string{"", long})))
	read("X:Text.VAL$", cawire.DBRChar)
	read("X:Text.DESC", cawire.DBRString)
	if log.Len() > 0 {
		t.Errorf("nothing was cut:\n%s", log.String())
	}
	for range 3 {
		read("X:Text", cawire.DBRTimeString)
		read("X:List", cawire.DBRString)
	}
	if n := strings.Count(log.String(), "\n"); n != 2 {
		t.Errorf("the log has %d lines:\n%s", n, log.String())
	}
}

func TestCA11CA12CharactersAreText(t *testing.T) {
	w := newWorld(t, str("short", rw, 30), str("long", rw, 100))
	c := w.dial()
	for _, name := range []string{"X:Short", "X:Short.VAL$", "X:Long", "X:Long.VAL$"} {
		sid := c.mustOpen(name).SID
		path := gateway.Path("x." + strings.ToLower(strings.TrimSuffix(name[2:], ".VAL$")))
		for _, x := range []struct{ sent, want string }{
			{"A", "A"}, {"A\x00", "A"}, {"\x00", ""}, {"hello", "hello"}, {"hello\x00zz", "hello"},
		} {
			status, err := c.write(sid, cawire.DBRChar, uint32(len(x.sent)), encode(cawire.DBRChar, len(x.sent), cawire.Values{Chars: []byte(x.sent)}))
			if got := w.Attribute(path).Setpoint.Value.Text(); got != x.want || status != cawire.ECANormal || err != nil {
				t.Errorf("%s: putting %q leaves %q: %v, %v", name, x.sent, got, status, err)
			}
		}
		status, err := c.write(sid, cawire.DBRString, 1, encode(cawire.DBRString, 1, cawire.Values{Strings: []string{"date"}}))
		if got := w.Attribute(path).Setpoint.Value.Text(); got != "date" || status != cawire.ECANormal || err != nil {
			t.Errorf("%s: putting the string leaves %q: %v, %v", name, got, status, err)
		}
	}
}

func TestCA14EmptyValuesHaveTheirMaximum(t *testing.T) {
	w := newWorld(t, str("text", r, 30), str("long", r, 100), attribute("wave", r, gateway.Type{Kind: gateway.Float64, Shape: []int{8}}))
	w.update(change("text", gateway.Of("")), change("wave", gateway.ArrayOf([]float64{})))
	c := w.dial()
	for name, want := range map[string]uint32{"X:Text": 1, "X:Text.VAL$": 40, "X:Long": 1, "X:Long.VAL$": 101, "X:Wave": 8} {
		ch := c.mustOpen(name)
		if ch.Count != want {
			t.Errorf("%s has at most %d elements, want %d", name, ch.Count, want)
		}
		for _, count := range []uint32{0, 1} {
			if _, _, reply := c.values(ch.SID, ch.Type, count); reply.Status != cawire.ECANormal {
				t.Errorf("reading %d of %s: %v", count, name, reply.Status)
			}
		}
	}
	if got := c.text("X:Text"); got != "" {
		t.Errorf("an empty text reads %q", got)
	}
}

func TestCA17ArraysStayWithinTheirMaximum(t *testing.T) {
	w := newWorld(t, attribute("wave", rw, gateway.Type{Kind: gateway.Float64, Shape: []int{6}}))
	ten := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	w.update(change("wave", gateway.ArrayOf(ten)))
	c := w.dial()
	sid := c.mustOpen("X:Wave_RBV").SID
	if _, v, reply := c.values(sid, cawire.DBRDouble, 0); reply.Count != 6 || !slices.Equal(v.Doubles, ten[:6]) {
		t.Errorf("read %d elements: %v", reply.Count, v.Doubles)
	}
	w.update(change("wave", gateway.ArrayOf(ten[:2])))
	if _, v, _ := c.values(sid, cawire.DBRDouble, 9); !slices.Equal(v.Doubles, []float64{1, 2, 0, 0, 0, 0, 0, 0, 0}) {
		t.Errorf("beyond the maximum: %v, want zeros", v.Doubles)
	}
	status, err := c.write(c.mustOpen("X:Wave").SID, cawire.DBRDouble, 10, encode(cawire.DBRDouble, 10, cawire.Values{Doubles: ten}))
	if status != cawire.ECATooLarge || err != nil {
		t.Errorf("putting ten: %v, %v", status, err)
	}
}

func TestCA31CA32WideIntegersAreNotWrapped(t *testing.T) {
	w := newWorld(t, attribute("wide", rw, gateway.Type{Kind: gateway.Int64}), attribute("unsigned", rw, gateway.Type{Kind: gateway.Uint32}))
	c := w.dial()
	wide := c.mustOpen("X:Wide_RBV")
	for _, x := range []struct {
		value int64
		long  cawire.Status
	}{{9999999999999, cawire.ECAGetFail}, {-2147483649, cawire.ECAGetFail}, {2147483647, cawire.ECANormal}, {-5, cawire.ECANormal}} {
		w.update(change("wide", gateway.Of(x.value)))
		if _, v, _ := c.values(wide.SID, wide.Type, 1); wide.Type != cawire.DBRDouble || v.Doubles[0] != float64(x.value) {
			t.Errorf("%d is %v", x.value, v.Doubles)
		}
		if _, v, reply := c.values(wide.SID, cawire.DBRLong, 1); reply.Status != x.long || x.long == cawire.ECANormal && int64(v.Longs[0]) != x.value {
			t.Errorf("%d as DBR_LONG is %v, %v", x.value, reply.Status, v.Longs)
		}
	}
	put := c.mustOpen("X:Unsigned").SID
	for _, x := range []struct {
		typ  cawire.Type
		v    cawire.Values
		want cawire.Status
	}{
		{cawire.DBRString, cawire.Values{Strings: []string{"0xF0000000"}}, cawire.ECANormal},
		{cawire.DBRLong, cawire.Values{Longs: []int32{-1}}, cawire.ECAPutFail},
		{cawire.DBRDouble, cawire.Values{Doubles: []float64{4294967295}}, cawire.ECANormal},
	} {
		if status, err := c.write(put, x.typ, 1, encode(x.typ, 1, x.v)); status != x.want || err != nil {
			t.Errorf("putting %+v: %v, %v", x.v, status, err)
		}
	}
	if _, v, _ := c.values(put, cawire.DBRLong, 1); v.Longs[0] != -1 {
		t.Errorf("as DBR_LONG it is %d, want the same 32 bits", v.Longs[0])
	}
	if _, v, _ := c.values(put, cawire.DBRDouble, 1); v.Doubles[0] != 4294967295 {
		t.Errorf("as DBR_DOUBLE it is %v", v.Doubles[0])
	}
	if got := c.text("X:Unsigned"); got != "4294967295" {
		t.Errorf("as text it is %q", got)
	}
}

func TestCA34UnsetLimitsAreNaN(t *testing.T) {
	level := float("level", r)
	level.Alarm.High = gateway.Level{Limit: gateway.At(0.1), Severity: gateway.Minor}
	wide := attribute("wide", r, gateway.Type{Kind: gateway.Int64})
	w := newWorld(t, level, wide)
	w.update(change("level", gateway.Of(0.05)))
	c := w.dial()
	meta, _, _ := c.values(c.mustOpen("X:Level").SID, cawire.DBRCtrlDouble, 1)
	l := meta.Limits
	if meta.Severity != cawire.NoAlarm || l.UpperWarning != 0.1 || !math.IsNaN(l.UpperAlarm) || !math.IsNaN(l.LowerAlarm) || !math.IsNaN(l.LowerWarning) {
		t.Errorf("got %+v", meta)
	}
	if meta, _, _ = c.values(c.mustOpen("X:Wide").SID, cawire.DBRCtrlDouble, 1); meta.Limits.UpperAlarm != 0 {
		t.Errorf("an integer's unset limit is %v, want 0", meta.Limits.UpperAlarm)
	}
}

func TestCA52ATimeThatWasNeverSetIsZero(t *testing.T) {
	w := newWorld(t, float("never", r))
	c := w.dial()
	meta, v, _ := c.values(c.mustOpen("X:Never").SID, cawire.DBRTimeDouble, 1)
	if !meta.Time.IsZero() || meta.Severity != cawire.InvalidAlarm || meta.Status != cawire.StatusUDF || v.Doubles[0] != 0 {
		t.Errorf("got %+v, %v", meta, v.Doubles)
	}
	w.update(change("never", gateway.Of(1.0)))
	meta, _, _ = c.values(c.mustOpen("X:Never").SID, cawire.DBRTimeDouble, 1)
	if want := w.Attribute("x.never").Readback.Time.Std(); !meta.Time.Time().Equal(want) || meta.Time.Nanos >= 1e9 {
		t.Errorf("got %v, want %v", meta.Time.Time(), want)
	}
}

func TestCA59LongTextsOfAnySize(t *testing.T) {
	for _, size := range []int{32767, 32768, 70000} {
		w := newWorld(t, str("text", r, size))
		text := strings.Repeat("0123456789", size/10+1)[:size]
		w.update(change("text", gateway.Of(text)))
		c := w.dial()
		if got := c.text("X:Text"); got != text[:39] {
			t.Errorf("%d: plain reads %q", size, got)
		}
		ch := c.mustOpen("X:Text.VAL$")
		if _, v, _ := c.values(ch.SID, cawire.DBRChar, 0); string(v.Chars) != text+"\x00" {
			t.Errorf("%d: %d characters", size, len(v.Chars))
		}
		c.subscribe(ch.SID, cawire.DBRTimeChar, cawire.DBEValue)
		if e := until[*cawire.Event](c, nil); e.Count != uint32(size+1) {
			t.Errorf("%d: an event with %d characters", size, e.Count)
		}
	}
}
