package cawire

import "testing"

// steady returns what a server and a client do for each event of a subscription
// on a circuit that is warmed up.
func steady(tb testing.TB, typ Type, count int) (encode, decode func()) {
	m, v := exampleMeta(), Values{
		Strings: make([]string, count), Shorts: make([]int16, count), Floats: make([]float32, count),
		Enums: make([]uint16, count), Chars: make([]byte, count), Longs: make([]int32, count), Doubles: make([]float64, count),
	}
	var payload, out []byte
	event := Event{Type: typ, Count: uint32(count), Status: ECANormal, SubscriptionID: 1}
	encode = func() {
		var err error
		if payload, err = AppendDBR(payload[:0], typ, uint32(count), &m, &v); err != nil {
			tb.Fatal(err)
		}
		event.Payload = payload
		if out, err = event.Append(out[:0], MinorCurrent); err != nil {
			tb.Fatal(err)
		}
	}
	encode()
	var gotM Meta
	var gotV Values
	decode = func() {
		f, _, err := Next(out, 1<<24)
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := KindOf(f, Server, OnCircuit); err != nil {
			tb.Fatal(err)
		}
		var e Event
		if err := e.Decode(f); err != nil {
			tb.Fatal(err)
		}
		if err := DecodeDBR(e.Type, e.Count, e.Payload, &gotM, &gotV); err != nil {
			tb.Fatal(err)
		}
	}
	decode()
	return encode, decode
}

func TestEventsAllocateNothing(t *testing.T) {
	for typ := range Type(numTypes) {
		encode, decode := steady(t, typ, 3)
		if n := testing.AllocsPerRun(20, encode); n != 0 {
			t.Errorf("encoding %v: %v allocations", typ, n)
		}
		if n := testing.AllocsPerRun(20, decode); n != 0 {
			t.Errorf("decoding %v: %v allocations", typ, n)
		}
	}
}

func TestMessagesAllocateNothing(t *testing.T) {
	buf := make([]byte, 0, 1<<18)
	for _, m := range examples() {
		f, _, err := Next(encode(t, m), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		into := kinds[m.Kind()].make()
		if n := testing.AllocsPerRun(20, func() {
			if err := into.Decode(f); err != nil {
				t.Fatal(err)
			}
			if _, err := into.Append(buf, MinorCurrent); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%v: %v allocations", m.Kind(), n)
		}
	}
}

// The state of a circuit allocates for a channel or a subscription, but not
// for what goes on in it.
func TestStateOfEventsAllocatesNothing(t *testing.T) {
	c := play(t, Server, subscribed)
	event := &Event{SubscriptionID: 7, Status: ECANormal}
	read, reply := &ReadNotifyRequest{SID: 100, IOID: 1}, &ReadNotifyReply{IOID: 1, Status: ECANormal}
	if n := testing.AllocsPerRun(20, func() {
		if c.Sent(event) != nil || c.Received(read) != nil || c.Sent(reply) != nil {
			t.Fatal("refused")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func benchmark(b *testing.B, typ Type, count int) {
	encode, decode := steady(b, typ, count)
	for name, do := range map[string]func(){"encode": encode, "decode": decode} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(typ.Size(uint32(count)))
			for b.Loop() {
				do()
			}
		})
	}
}

func BenchmarkTimeDouble(b *testing.B)      { benchmark(b, DBRTimeDouble, 1) }
func BenchmarkCtrlDouble(b *testing.B)      { benchmark(b, DBRCtrlDouble, 1) }
func BenchmarkCtrlEnum(b *testing.B)        { benchmark(b, DBRCtrlEnum, 1) }
func BenchmarkTimeString(b *testing.B)      { benchmark(b, DBRTimeString, 1) }
func BenchmarkTimeDoubleArray(b *testing.B) { benchmark(b, DBRTimeDouble, 100000) }

// BenchmarkSharedPayload is the event of one more circuit, when the payload is
// already there.
func BenchmarkSharedPayload(b *testing.B) {
	payload, err := AppendDBR(nil, DBRTimeDouble, 1, &Meta{}, &Values{Doubles: []float64{1}})
	if err != nil {
		b.Fatal(err)
	}
	var out []byte
	event := Event{Type: DBRTimeDouble, Count: 1, Status: ECANormal, Payload: payload}
	b.ReportAllocs()
	for b.Loop() {
		event.SubscriptionID++
		if out, err = event.Append(out[:0], MinorCurrent); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStateOfEvent(b *testing.B) {
	c := NewCircuit(Server)
	for _, s := range subscribed {
		if err := send(c, Server, s); err != nil {
			b.Fatal(err)
		}
	}
	event := &Event{SubscriptionID: 7, Status: ECANormal}
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Sent(event); err != nil {
			b.Fatal(err)
		}
	}
}
