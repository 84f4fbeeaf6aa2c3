package modbus

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device/describe"
	"github.com/polygate/gateway/device/modbus/pdu"
)

// frames feeds bytes in pieces and shows the frames that are found, and whether
// the stream was torn.
func frames(overTCP bool, pieces ...[]byte) (text string, torn bool) {
	s := lockstep{overTCP: overTCP}
	var found strings.Builder
	for _, piece := range pieces {
		s.add(piece, time.Time{})
		for {
			f, ok := s.next()
			if !ok {
				break
			}
			fmt.Fprintf(&found, "%d:%x ", f.Unit, f.PDU)
		}
	}
	return found.String(), s.torn
}

func TestBordersOfPiecesHaveNoMeaning(t *testing.T) {
	reply := []byte{3, 4, 0, 1, 0, 2}
	rtu := append([]byte{0x00, 0xFF, 0x03}, pdu.AppendRTU(nil, 1, reply)...)
	rtu = pdu.AppendRTU(rtu, 2, []byte{0x83, 2})
	tcp := pdu.AppendTCP(pdu.AppendTCP(nil, 7, 1, reply), 8, 2, []byte{0x83, 2})
	for name, c := range map[string]struct {
		overTCP bool
		bytes   []byte
	}{"rtu, behind noise": {false, rtu}, "tcp": {true, tcp}} {
		t.Run(name, func(t *testing.T) {
			for at := range c.bytes {
				got, torn := frames(c.overTCP, c.bytes[:at], c.bytes[at:])
				if want := "1:030400010002 2:8302 "; got != want || torn {
					t.Errorf("split at %d: %q, %t, want %q", at, got, torn, want)
				}
			}
		})
	}
}

// FuzzFrames splits any bytes anywhere: what is found is the same.
func FuzzFrames(f *testing.F) {
	f.Add(false, 5, pdu.AppendRTU([]byte{0, 1}, 1, []byte{3, 2, 0, 1}))
	f.Add(true, 5, pdu.AppendTCP(nil, 1, 1, []byte{3, 2, 0, 1}))
	f.Fuzz(func(t *testing.T, overTCP bool, at int, b []byte) {
		if at < 0 || at > len(b) || len(b) > 2048 {
			return
		}
		whole, torn := frames(overTCP, b)
		if torn {
			return // All that has arrived is given up, and that is less in pieces.
		}
		if pieces, torn := frames(overTCP, b[:at], b[at:]); pieces != whole || torn {
			t.Errorf("in pieces %q, %t, whole %q", pieces, torn, whole)
		}
	})
}

// FuzzCodec reads any registers by any type, and writes back what was read.
func FuzzCodec(f *testing.F) {
	f.Add(byte(0), false, false, byte(0), byte(0), []byte{1, 2, 3, 4, 5, 6, 7, 8})
	f.Add(byte(7), true, true, byte(3), byte(4), []byte{0x7F, 0xF0, 0, 0, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, typ byte, swapBytes, swapWords bool, bit, width byte, data []byte) {
		name := typeNames[int(typ)%len(typeNames)]
		orders := map[bool]string{false: "big", true: "little"}
		a := Attribute{
			Attribute: describe.Attribute{Type: describe.Type{Kind: name}},
			Type:      name, ByteOrder: orders[swapBytes], WordOrder: orders[swapWords],
		}
		if name == "string" {
			a.MaxLength = 8
		}
		if width > 0 {
			b := int(bit)
			a.Bit, a.Width = &b, int(width)
		}
		var problems []describe.Problem
		k := &compiler{config: &Config{}, root: describe.Root(&problems)}
		kind := a.Attribute.Type.Build(k.root)
		c := k.codec(&a, &kind, holdings, k.root)
		if len(problems) > 0 || len(data) < 2*c.size() {
			return
		}
		v, alarm := c.decode(data, 0)
		if !v.Known() {
			if alarm.Severity != gateway.Invalid {
				t.Errorf("no value, and %+v", alarm)
			}
			return
		}
		back, err := c.encode(v)
		if err != nil {
			t.Fatalf("%v was read and cannot be written: %v", v, err)
		}
		again, _ := c.decode(back, 0)
		if !again.Equal(v) {
			t.Errorf("%v becomes %v", v, again)
		}
		exact := c.width == 0 && !kind.Kind.IsFloat() && name != "string"
		if exact && !bytes.Equal(back, data[:len(back)]) {
			t.Errorf("%x becomes %x", data[:len(back)], back)
		}
	})
}

// BenchmarkBlock decodes the reply to a full request.
func BenchmarkBlock(b *testing.B) {
	data := make([]byte, 2*pdu.MaxReadRegisters)
	codecs := make([]codec, pdu.MaxReadRegisters/2)
	for i := range codecs {
		kind := gateway.Type{Kind: gateway.Float32}
		codecs[i] = codec{typ: kind, element: kind, raw: kind, registers: 2}
	}
	b.ReportAllocs()
	for b.Loop() {
		for i := range codecs {
			codecs[i].decode(data, 2*i)
		}
	}
}
