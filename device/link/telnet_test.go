package link

import (
	"bytes"
	"fmt"
	"testing"
)

// told writes down what a telnetReader tells.
type told struct{ commands []string }

func (h *told) negotiate(verb, option byte) {
	h.commands = append(h.commands, fmt.Sprint(verb, " ", option))
}

func (h *told) subnegotiate(b []byte) { h.commands = append(h.commands, fmt.Sprintf("%x", b)) }

func TestTelnetSplitAtEveryByte(t *testing.T) {
	stream := []byte("ab\xff\xff\xff\xfd\x01c\xff\xfa\x2c\x65\x00\x01\xc2\xff\xff\xff\xf0\xff\xf1d\r\x00")
	const data = "ab\xffcd\r\x00"
	want := fmt.Sprint([]string{"253 1", "2c650001c2ff"})
	for i := range stream {
		var r telnetReader
		var h told
		got := r.decode(nil, stream[:i], &h)
		got = r.decode(got, stream[i:], &h)
		if string(got) != data || fmt.Sprint(h.commands) != want {
			t.Errorf("split at %d: %q %v", i, got, h.commands)
		}
	}
}

func TestTelnetTaken(t *testing.T) {
	src := []byte("a\xff\xffb")
	for n, want := range []int{0, 1, 1, 2, 2, 3, 4} {
		if got := telnetTaken(src, n); got != want {
			t.Errorf("%d bytes written are %d, want %d", n, got, want)
		}
	}
}

func TestTelnetOptionsNeverLoop(t *testing.T) {
	var a, b telnetOptions
	a.ask(telnetWill, optionBinary)
	a.ask(telnetDo, optionSGA)
	b.ask(telnetDo, optionBinary)
	b.ask(telnetDo, optionComPort) // Refused.
	for range 4 {
		for _, way := range []struct{ from, to *telnetOptions }{{&a, &b}, {&b, &a}} {
			sent := way.from.out
			way.from.out = nil
			for ; len(sent) > 0; sent = sent[3:] {
				way.to.negotiate(sent[1], sent[2])
			}
		}
	}
	if len(a.out)+len(b.out) > 0 {
		t.Errorf("still talking: %v, %v", a.out, b.out)
	}
	if a.we[optionBinary] != optionOn || b.they[optionBinary] != optionOn || b.they[optionComPort] != optionOff || a.they[optionSGA] != optionOff {
		t.Errorf("agreed on %+v, %+v", a, b)
	}
}

func FuzzTelnet(f *testing.F) {
	f.Add([]byte("a\xff\xff"), []byte("\xff\xfa\x2c\xff"))
	f.Fuzz(func(t *testing.T, x, y []byte) {
		// What is escaped comes back, after anything that ends in data.
		var r telnetReader
		var h told
		r.decode(nil, x, &h)
		if len(r.sub) > maxSub {
			t.Errorf("kept %d bytes", len(r.sub))
		}
		r = telnetReader{}
		if got := r.decode(nil, telnetEscape(nil, y), &h); !bytes.Equal(got, y) {
			t.Errorf("%q became %q", y, got)
		}
		// The pieces make no difference, and decoding in place does none.
		var one, two telnetReader
		var h1, h2 told
		got := two.decode(two.decode(nil, x, &h2), y, &h2)
		whole := append(bytes.Clone(x), y...)
		if want := one.decode(whole[:0], whole, &h1); !bytes.Equal(got, want) || fmt.Sprint(h1) != fmt.Sprint(h2) {
			t.Errorf("in pieces %q %v, whole %q %v", got, h2, want, h1)
		}
	})
}
