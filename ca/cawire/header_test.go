package cawire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"
)

// The cases are replies by payload size and count; a message is long from
// 0xFFFF of either on, with the size padded.
func TestCA19LongHeaderRule(t *testing.T) {
	for _, c := range []struct {
		typ   Type
		count uint32
		long  bool
	}{
		{DBRChar, 65528, false},
		{DBRChar, 65529, true}, // padded to 65536
		{DBRChar, 65534, true},
		{DBRChar, 65535, true},
		{DBRChar, 70000, true},
		{DBRShort, 32764, false},
		{DBRShort, 65535, true},
		{DBRDouble, 8191, false},
		{DBRDouble, 8192, true},
	} {
		payload := make([]byte, c.typ.Size(c.count))
		m := &ReadNotifyReply{Type: c.typ, Count: c.count, Status: ECANormal, Payload: payload}
		b := encode(t, m)
		header := len(b) - Pad(len(payload))
		if long := header == LongHeaderLen; long != c.long {
			t.Errorf("%v x %d: header of %d bytes", c.typ, c.count, header)
		}
		if c.long && !bytes.Equal(b[2:8], []byte{0xFF, 0xFF, 0, byte(c.typ), 0, 0}) {
			t.Errorf("%v x %d: long header is %x", c.typ, c.count, b[:24])
		}
		h, n, err := DecodeHeader(b)
		if err != nil || n != header || h.Count != c.count || int(h.PayloadSize) != Pad(len(payload)) {
			t.Errorf("%v x %d: %+v, %d, %v", c.typ, c.count, h, n, err)
		}

		old, err := m.Append([]byte("x"), 8)
		if c.long && (!errors.Is(err, ErrLongHeader) || string(old) != "x") {
			t.Errorf("%v x %d to 4.8: %v", c.typ, c.count, err)
		}
		if !c.long && err != nil {
			t.Errorf("%v x %d to 4.8: %v", c.typ, c.count, err)
		}
	}
}

// The count alone makes a request or a CREATE_CHAN reply long.
func TestCA19CountAlone(t *testing.T) {
	for count, want := range map[uint32]int{0xFFFE: ShortHeaderLen, 0xFFFF: LongHeaderLen, 0x10000: LongHeaderLen} {
		for _, m := range []Message{
			&CreateChanReply{Type: DBRChar, Count: count}, &ReadNotifyRequest{Type: DBRChar, Count: count},
			&EventCancelReply{Type: DBRChar, Count: count},
		} {
			if got := len(encode(t, m)); got != want {
				t.Errorf("%v with count %#x: %d bytes, want %d", m.Kind(), count, got, want)
			}
		}
	}
	// Clients below 4.9 are told of 0xFFFE elements at most.
	b, err := (&CreateChanReply{Type: DBRChar, Count: 70000}).Append(nil, 8)
	if err != nil || len(b) != ShortHeaderLen || b[6] != 0xFF || b[7] != 0xFE {
		t.Errorf("%x, %v", b, err)
	}
}

// Text beyond 32767 bytes reaches the client whole, by long header if need be.
func TestCA59LongTexts(t *testing.T) {
	for _, size := range []int{32767, 32768, 70000} {
		text := bytes.Repeat([]byte("t"), size)
		payload, err := AppendDBR(nil, DBRTimeChar, uint32(size), &Meta{}, &Values{Chars: text})
		if err != nil {
			t.Fatal(err)
		}
		f, _, err := Next(encode(t, &Event{Type: DBRTimeChar, Count: uint32(size), Status: ECANormal, Payload: payload}), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		var m Event
		var v Values
		if err := m.Decode(f); err != nil {
			t.Fatal(err)
		}
		if err := DecodeDBR(m.Type, m.Count, m.Payload, nil, &v); err != nil || !bytes.Equal(v.Chars, text) {
			t.Errorf("%d bytes came as %d, %v", size, len(v.Chars), err)
		}
		plain, err := AppendDBR(nil, DBRString, 1, nil, &Values{Strings: []string{string(text)}})
		if err != nil || len(plain) != 40 || plain[38] != 't' || plain[39] != 0 {
			t.Errorf("plain string is %q, %v", plain, err)
		}
	}
}

func TestCA22MisalignedPayload(t *testing.T) {
	write := Header{Command: CmdWrite, PayloadSize: 13, Type: 6, Count: 1, Param1: 2, Param2: 3}
	b := append(write.appendAsIs(nil, false), make([]byte, 64)...)
	f, n, err := Next(b, 1<<20)
	if err != ErrMisaligned || n != ShortHeaderLen || f.Header != write || f.Payload != nil {
		t.Errorf("%+v, %d, %v", f, n, err)
	}
	for size := range uint32(17) {
		h := Header{Command: CmdWrite, PayloadSize: size}
		_, _, err := Next(append(h.appendAsIs(nil, false), make([]byte, 24)...), 1<<20)
		if aligned := size == 0 || size == 8 || size == 16; aligned != (err == nil) {
			t.Errorf("size %d: %v", size, err)
		}
	}
	// It is broken before the payload is there, and however big it claims to be.
	if _, _, err := Next(b[:16], 0); err != ErrMisaligned {
		t.Errorf("header alone: %v", err)
	}
	// The answer quotes the request as it was.
	reply := encode(t, &ErrorReply{CID: NoChannel, Status: ECAInternal, Request: f.Header, Text: []byte("x")})
	if !bytes.Equal(reply[16:32], b[:16]) {
		t.Errorf("quoted %x, want %x", reply[16:32], b[:16])
	}
}

func TestCA22SizeLargerThanWhatComes(t *testing.T) {
	write := Header{Command: CmdWrite, PayloadSize: 1 << 14, Type: 6, Count: 1}
	b, err := write.Append(nil, 13)
	if err != nil {
		t.Fatal(err)
	}
	if _, need, err := Next(append(b, 1, 2, 3), 1<<14); err != ErrIncomplete || need != 16+1<<14 {
		t.Errorf("need %d, %v", need, err)
	}
	f, n, err := Next(b, 1<<14-1)
	if err != ErrTooLarge || n != 16 || f.PayloadSize != 1<<14 {
		t.Errorf("above the limit: %+v, %d, %v", f, n, err)
	}
	huge := Header{Command: CmdWrite, PayloadSize: 0xFFFFFFF8, Count: 1}
	if _, n, err := Next(huge.appendAsIs(nil, true), 0xFFFFFFFF); err != ErrTooLarge || n != 24 {
		t.Errorf("4 GiB: %d, %v", n, err)
	}
	if _, err := huge.Append(nil, 13); err != ErrTooLarge {
		t.Errorf("encoding 4 GiB: %v", err)
	}
}

// Base's server answers a request for "all" in the long form when the channel
// might need it, even if there is one element.
func TestLongFormOfShortMessageIsUnderstood(t *testing.T) {
	b, _ := hex.DecodeString("000fffff000600000000000100000007" + "0000000800000001" + "400a000000000000")
	f, n, err := Next(b, 1<<14)
	if err != nil || n != 32 || f.Count != 1 || f.PayloadSize != 8 || len(f.Payload) != 8 {
		t.Errorf("%+v, %d, %v", f, n, err)
	}
}

func TestPaddingIsZero(t *testing.T) {
	buf := bytes.Repeat([]byte{0xAA}, 128)[:0]
	for size := range 17 {
		b, err := (&Event{Payload: bytes.Repeat([]byte{1}, size)}).Append(buf, 13)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) != 16+Pad(size) || len(bytes.Trim(b[16+size:], "\x00")) != 0 {
			t.Errorf("payload of %d: %x", size, b)
		}
	}
}

func TestAppendHeaderGoesWithASharedPayload(t *testing.T) {
	payload, err := AppendDBR(nil, DBRTimeDouble, 1, &Meta{}, &Values{Doubles: []float64{1}})
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{len(payload), 70000} {
		p := append(payload, make([]byte, size-len(payload))...)
		e := &Event{Type: DBRTimeDouble, Count: 1, Status: ECANormal, SubscriptionID: 9, Payload: p}
		h, err := e.AppendHeader(nil, 13)
		if err != nil || !bytes.Equal(append(h, p...), encode(t, e)) {
			t.Errorf("event of %d bytes: %x, %v", size, h, err)
		}
		r := &ReadNotifyReply{Type: DBRTimeDouble, Count: 1, Status: ECANormal, IOID: 9, Payload: p}
		h, err = r.AppendHeader(nil, 13)
		if err != nil || !bytes.Equal(append(h, p...), encode(t, r)) {
			t.Errorf("reply of %d bytes: %x, %v", size, h, err)
		}
	}
}
