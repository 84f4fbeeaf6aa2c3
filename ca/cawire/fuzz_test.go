package cawire

import (
	"bytes"
	"testing"
	"unicode/utf8"
)

// addCaptures seeds a fuzz target with the streams of all captures.
func addCaptures(f *testing.F, on Transport) {
	for _, path := range captureFiles(f) {
		for _, p := range readCapture(f, path) {
			if p.on == on && len(p.data) < 4096 {
				f.Add(p.data, p.from == Client)
			}
		}
	}
}

func side(client bool) Side {
	if client {
		return Client
	}
	return Server
}

// FuzzCircuit feeds arbitrary bytes to a circuit: framing, decoding, state,
// trace. What is decoded must encode, and decode to the same again.
func FuzzCircuit(f *testing.F) {
	addCaptures(f, OnCircuit)
	f.Fuzz(func(t *testing.T, data []byte, client bool) {
		const limit = 1 << 16
		from := side(client)
		state := NewCircuit(from.Other())
		for {
			frame, n, err := Next(data, limit)
			switch {
			case err == ErrIncomplete:
				if n <= len(data) || n > LongHeaderLen+limit {
					t.Fatalf("needs %d bytes, has %d", n, len(data))
				}
				return
			case err != nil:
				if n != ShortHeaderLen && n != LongHeaderLen {
					t.Fatalf("%v: header of %d bytes", err, n)
				}
				return
			case n < ShortHeaderLen || n > len(data) || len(frame.Payload) != int(frame.PayloadSize):
				t.Fatalf("frame of %d bytes: %+v", n, frame.Header)
			}
			checkFrame(t, frame, from, OnCircuit)
			if m, err := Decode(frame, from, OnCircuit); err == nil {
				_ = state.Received(m)
			}
			data = data[n:]
		}
	})
}

// FuzzDatagram does the same with a datagram.
func FuzzDatagram(f *testing.F) {
	addCaptures(f, OnDatagram)
	f.Fuzz(func(t *testing.T, data []byte, client bool) {
		for len(data) > 0 {
			frame, n, err := NextDatagram(data)
			if err != nil {
				return
			}
			if n < ShortHeaderLen || n > len(data) {
				t.Fatalf("frame of %d bytes", n)
			}
			checkFrame(t, frame, side(client), OnDatagram)
			data = data[n:]
		}
	})
}

// FuzzMessage decodes arbitrary fields and payloads as each kind of message.
func FuzzMessage(f *testing.F) {
	for _, m := range examples() {
		if frame, _, err := Next(encode(f, m), 1<<10); err == nil {
			h := frame.Header
			f.Add(uint8(m.Kind()), h.Type, h.Count, h.Param1, h.Param2, frame.Payload)
		}
	}
	f.Fuzz(func(t *testing.T, kind uint8, typ uint16, count, p1, p2 uint32, payload []byte) {
		k := Kind(kind%uint8(numKinds-1)) + 1
		frame := Frame{Header{k.Command(), uint32(len(payload)), typ, count, p1, p2}, payload}
		checkFrame(t, frame, sender(k), transport(k))
	})
}

func checkFrame(t *testing.T, frame Frame, from Side, on Transport) {
	t.Helper()
	if line := AppendTrace(nil, frame, from, on); bytes.ContainsAny(line, "\n\r") {
		t.Fatalf("trace has a line break: %q", line)
	}
	m, err := Decode(frame, from, on)
	if err != nil {
		return
	}
	b, err := m.Append(nil, MinorCurrent)
	if err == ErrBadName {
		return // an empty name of a user or host is taken, but not made
	}
	if err != nil {
		t.Fatalf("encoding %+v: %v", m, err)
	}
	again, n, err := Next(b, 1<<20)
	if err != nil || n != len(b) {
		t.Fatalf("encoded %+v: %d of %d bytes, %v", m, n, len(b), err)
	}
	m2, err := Decode(again, from, on)
	if err != nil {
		t.Fatalf("decoding %+v again: %v", m, err)
	}
	b2, err := m2.Append(nil, MinorCurrent)
	if err != nil || !bytes.Equal(b, b2) {
		t.Fatalf("encoded %x, and again %x, %v", b, b2, err)
	}
}

// FuzzDBR decodes arbitrary payloads of every type, and encodes what came out.
func FuzzDBR(f *testing.F) {
	for typ := range Type(numTypes) {
		m, v := exampleMeta(), exampleValues()
		b, err := AppendDBR(nil, typ, 3, &m, &v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint16(typ), uint32(3), b)
	}
	f.Fuzz(func(t *testing.T, typ uint16, count uint32, payload []byte) {
		var m, m2 Meta
		var v, v2 Values
		if err := DecodeDBR(Type(typ), count, payload, &m, &v); err != nil {
			return
		}
		if got := v.Len(Type(typ)); got != int(count) {
			t.Fatalf("%d elements, want %d", got, count)
		}
		b, err := AppendDBR(nil, Type(typ), count, &m, &v)
		if err != nil {
			t.Fatal(err)
		}
		if err := DecodeDBR(Type(typ), count, b, &m2, &v2); err != nil {
			t.Fatal(err)
		}
		b2, err := AppendDBR(nil, Type(typ), count, &m2, &v2)
		if err != nil || !bytes.Equal(b, b2) {
			t.Fatalf("encoded %x, and again %x, %v", b, b2, err)
		}
	})
}

// FuzzText cuts arbitrary texts.
func FuzzText(f *testing.F) {
	f.Add("µmol/m²s", uint8(8))
	f.Add("\xff\xfe\xf0\x9f\x98", uint8(4))
	f.Fuzz(func(t *testing.T, s string, size uint8) {
		if size == 0 {
			return
		}
		b := appendText(nil, s, int(size))
		var got string
		setText(&got, b)
		if len(b) != int(size) || b[size-1] != 0 || len(got) > len(s) || s[:len(got)] != got {
			t.Fatalf("%q in %d bytes became %q", s, size, b)
		}
		if utf8.ValidString(s) && !utf8.ValidString(got) {
			t.Fatalf("%q was cut through a character: %q", s, got)
		}
	})
}
