package cawire

import (
	"bytes"
	"errors"
	"net/netip"
	"reflect"
	"testing"
)

// examples has at least one message of every kind.
func examples() []Message {
	payload := []byte("sixteen bytes...")
	return []Message{
		&Version{Priority: 7, Minor: 13},
		&Version{Minor: 13, Priority: 1, Sequence: 1},
		&DatagramVersion{Minor: 13, HasSequence: true, Sequence: 0xFFFFFFFF},
		&DatagramVersion{Minor: 10},
		&SearchRequest{Reply: DontReply, Minor: 13, CID: 1, Name: []byte("a")},
		&SearchRequest{Reply: DoReply, Minor: 12, CID: 2, Name: bytes.Repeat([]byte("n"), 60000)},
		&SearchReply{Port: 5064, CID: 3, HasMinor: true, Minor: 13},
		&SearchReply{Port: 65535, CID: 3, Address: netip.MustParseAddr("10.1.2.3")},
		&NotFound{Reply: DoReply, Minor: 13, CID: 4},
		&Beacon{Minor: 13, Port: 5064, ID: 0xFFFFFFFF},
		&Beacon{Minor: 13, Port: 5064, ID: 1, Address: netip.MustParseAddr("192.168.0.1")},
		&RepeaterRegister{}, &RepeaterRegister{Address: netip.MustParseAddr("127.0.0.1")},
		&RepeaterConfirm{Address: netip.MustParseAddr("127.0.0.1")},
		&ClientName{Name: []byte("someone")}, &ClientName{Name: []byte("12345678")},
		&HostName{Name: []byte("somewhere.example")},
		&Echo{}, &Echo{Type: 1, Count: 2, Param1: 3, Param2: 4, Payload: payload},
		&ReadSync{Type: 1, Count: 2, Param1: 3, Param2: 4},
		&EventsOff{}, &EventsOn{},
		&ErrorReply{
			CID: 5, Status: ECAPutFail, Text: []byte("PV:NAME"),
			Request: Header{Command: CmdWrite, PayloadSize: 13, Type: 6, Count: 1, Param1: 8, Param2: 9},
		},
		&ErrorReply{
			CID: NoChannel, Status: ECATooLarge, Text: []byte("big"),
			Request: Header{Command: CmdWrite, PayloadSize: 1 << 24, Type: 4, Count: 1 << 24},
		},
		&CreateChanRequest{CID: 6, Minor: 13, Name: []byte("PV:NAME.VAL")},
		&CreateChanReply{CID: 6, SID: 7, Type: DBRDouble, Count: 1},
		&CreateChanReply{CID: 6, SID: 7, Type: DBRChar, Count: 1 << 20},
		&CreateChFail{CID: 8},
		&AccessRights{CID: 9, Rights: MayRead | MayWrite},
		&ClearRequest{SID: 10, CID: 11}, &ClearReply{SID: 10, CID: 11},
		&ServerDisconn{CID: 12},
		&ReadRequest{Type: DBRTimeDouble, Count: 1, SID: 13, IOID: 14},
		&ReadReply{Type: DBRLong, Count: 4, CID: 15, IOID: 14, Payload: payload},
		&ReadNotifyRequest{Type: DBRCtrlEnum, SID: 13, IOID: 14},
		&ReadNotifyRequest{Type: DBRDouble, Count: 1 << 17, SID: 13, IOID: 14},
		&ReadNotifyReply{Type: DBRLong, Count: 4, Status: ECANormal, IOID: 14, Payload: payload},
		&ReadNotifyReply{Type: DBRChar, Count: 70000, Status: ECANormal, IOID: 14, Payload: make([]byte, 70000)},
		&WriteRequest{Type: DBRLong, Count: 4, SID: 13, IOID: 15, Payload: payload},
		&WriteNotifyRequest{Type: DBRLong, Count: 4, SID: 13, IOID: 16, Payload: payload},
		&WriteNotifyReply{Type: DBRLong, Count: 4, Status: ECANoWtAccess, IOID: 16},
		&EventAdd{Type: DBRTimeLong, SID: 13, SubscriptionID: 17, Mask: DBEValue | DBEAlarm, To: 1.5},
		&Event{Type: DBRLong, Count: 4, Status: ECANormal, SubscriptionID: 17, Payload: payload},
		&EventCancel{Type: DBRTimeLong, SID: 13, SubscriptionID: 17},
		&EventCancelReply{Type: DBRTimeLong, SID: 13, SubscriptionID: 17},
	}
}

// sender and transport return one way in which a message of this kind travels.
func sender(k Kind) Side {
	if k.SentBy(Client) {
		return Client
	}
	return Server
}

func transport(k Kind) Transport {
	if k.On(OnCircuit) {
		return OnCircuit
	}
	return OnDatagram
}

func encode(t testing.TB, m Message) []byte {
	t.Helper()
	b, err := m.Append(nil, MinorCurrent)
	if err != nil {
		t.Fatalf("%v: %v", m.Kind(), err)
	}
	return b
}

func TestEveryMessageRoundTrips(t *testing.T) {
	seen := map[Kind]bool{}
	for _, m := range examples() {
		k := m.Kind()
		seen[k] = true
		b, err := m.Append([]byte("before"), MinorCurrent)
		if err != nil {
			t.Fatalf("%v: %v", k, err)
		}
		if !bytes.HasPrefix(b, []byte("before")) || (len(b)-6)%8 != 0 {
			t.Errorf("%v: %d bytes behind %q", k, len(b)-6, b[:6])
		}
		f, n, err := Next(b[6:], 1<<20)
		if err != nil || n != len(b)-6 {
			t.Fatalf("%v: Next: %d, %v", k, n, err)
		}
		got, err := Decode(f, sender(k), transport(k))
		if err != nil {
			t.Fatalf("%v: %v", k, err)
		}
		// Padding of a payload is part of it once it is decoded.
		trimPayload(got, m)
		if !reflect.DeepEqual(got, m) {
			t.Errorf("%v:\n got %+v\nwant %+v", k, got, m)
		}
	}
	for k := KindNone + 1; int(k) < len(kinds); k++ {
		if !seen[k] {
			t.Errorf("no example of %v", k)
		}
	}
}

func trimPayload(got, want Message) {
	g, w := reflect.ValueOf(got).Elem().FieldByName("Payload"), reflect.ValueOf(want).Elem().FieldByName("Payload")
	if g.IsValid() && g.Len() > w.Len() {
		g.Set(g.Slice(0, w.Len()))
	}
	if g.IsValid() && g.Len() == 0 {
		g.SetZero()
	}
}

func TestEveryMessageSplitAtEveryByte(t *testing.T) {
	for _, m := range examples() {
		whole := encode(t, m)
		stride := 1
		if len(whole) > 4096 {
			stride = 509 // every byte of the header, and then some
		}
		for cut := 0; cut < len(whole); cut++ {
			f, need, err := Next(whole[:cut], 1<<20)
			if err != ErrIncomplete || need <= cut || need > len(whole) || f.Payload != nil {
				t.Fatalf("%v cut at %d of %d: need %d, %v", m.Kind(), cut, len(whole), need, err)
			}
			if _, n, err := NextDatagram(whole[:cut]); cut < len(whole) && err == nil {
				t.Fatalf("%v: datagram cut at %d gives %d bytes", m.Kind(), cut, n)
			}
			if cut > LongHeaderLen {
				cut += stride - 1
			}
		}
	}
}

// TestCapturedStreamsInPieces feeds a circuit byte by byte and expects the
// frames that it gives at once.
func TestCapturedStreamsInPieces(t *testing.T) {
	all, _ := frames(t, readCapture(t, "testdata/captures/softioc-libca.txt"))
	var stream []byte
	var want []Frame
	for _, c := range all {
		if c.on == OnCircuit && len(c.data) < 4096 {
			stream = append(stream, c.data...)
			want = append(want, c.frame)
		}
	}
	var got []Frame
	start, need := 0, 0
	for end := range len(stream) + 1 {
		if end-start < need {
			continue // Next has said how much it needs
		}
		for {
			f, n, err := Next(stream[start:end], 1<<20)
			if err == ErrIncomplete {
				need = n
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, f)
			start += n
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%d frames, want %d", len(got), len(want))
	}
}

func TestNobodySendsTheOthersMessages(t *testing.T) {
	for _, m := range examples() {
		k := m.Kind()
		f, _, err := Next(encode(t, m), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		for _, side := range []Side{Client, Server} {
			for _, on := range []Transport{OnCircuit, OnDatagram} {
				got, err := KindOf(f, side, on)
				if allowed := k.SentBy(side) && k.On(on); allowed && (got != k || err != nil) {
					t.Errorf("%v from %v on %v: %v, %v", k, side, on, got, err)
				}
				if err != nil && !errors.Is(err, ErrUnknownCommand) {
					t.Errorf("%v from %v on %v: %v", k, side, on, err)
				}
				if err == nil && (!got.SentBy(side) || !got.On(on) || got.Command() != f.Command) {
					t.Errorf("%v from %v on %v is %v", f.Command, side, on, got)
				}
			}
		}
	}
}

func TestObsoleteCommandsAreNamedAndRefused(t *testing.T) {
	for c, name := range map[Command]string{
		CmdSnapshot: "SNAPSHOT", CmdBuild: "BUILD", CmdReadBuild: "READ_BUILD", CmdSignal: "SIGNAL",
	} {
		_, err := Decode(Frame{Header: Header{Command: c}}, Client, OnCircuit)
		if c.String() != name || !errors.Is(err, ErrObsolete) || !errors.Is(err, ErrUnknownCommand) {
			t.Errorf("%v: %v", c, err)
		}
	}
	if _, err := Decode(Frame{Header: Header{Command: 40}}, Client, OnCircuit); !errors.Is(err, ErrUnknownCommand) {
		t.Errorf("command 40: %v", err)
	}
}

func TestBadNames(t *testing.T) {
	for _, name := range []string{"", "\x00", "a\x00b"} {
		for _, m := range []Message{
			&SearchRequest{Name: []byte(name)}, &CreateChanRequest{Name: []byte(name)},
			&ClientName{Name: []byte(name)}, &HostName{Name: []byte(name)},
		} {
			if b, err := m.Append([]byte("x"), 13); err != ErrBadName || string(b) != "x" {
				t.Errorf("%v with name %q: %q, %v", m.Kind(), name, b, err)
			}
		}
	}
	for _, payload := range []string{"", "\x00", "\x00\x00\x00\x00\x00\x00\x00\x00"} {
		f := Frame{Payload: []byte(payload)}
		if err := new(SearchRequest).Decode(f); err != ErrBadName {
			t.Errorf("search for %q: %v", payload, err)
		}
	}
	// Base takes the last byte for the NUL, whatever it is.
	var m CreateChanRequest
	if err := m.Decode(Frame{Payload: []byte("NAME567X")}); err != nil || string(m.Name) != "NAME567" {
		t.Errorf("name without NUL: %q, %v", m.Name, err)
	}
	// A user's or host's name must have its own, and at most 512 bytes with it.
	var c ClientName
	long := append(bytes.Repeat([]byte("u"), MaxName-1), make([]byte, 8)...)
	if err := c.Decode(Frame{Payload: long}); err != nil || len(c.Name) != MaxName-1 {
		t.Errorf("name of %d bytes: %v", len(c.Name), err)
	}
	for _, payload := range [][]byte{[]byte("12345678"), append(bytes.Repeat([]byte("u"), MaxName), 0)} {
		if err := c.Decode(Frame{Payload: payload}); err != ErrBadName {
			t.Errorf("name of %d bytes: %v", len(payload), err)
		}
	}
}

func TestErrorReplyIsCutAt512Bytes(t *testing.T) {
	m := &ErrorReply{Status: ECAInternal, Text: bytes.Repeat([]byte("é"), 400)}
	f, _, err := Next(encode(t, m), 512)
	if err != nil {
		t.Fatal(err)
	}
	var got ErrorReply
	if err := got.Decode(f); err != nil || len(got.Text) != 494 || !bytes.Equal(got.Text, m.Text[:494]) {
		t.Errorf("%d bytes of text, %v", len(got.Text), err)
	}
}

func TestDecodeShortPayloads(t *testing.T) {
	for _, m := range []Message{new(EventAdd), new(ErrorReply)} {
		if err := m.Decode(Frame{Payload: make([]byte, 8)}); err != ErrShortPayload {
			t.Errorf("%v: %v", m.Kind(), err)
		}
	}
	quoted := Header{Command: CmdWrite, PayloadSize: 1 << 20, Count: 1 << 20}
	if err := new(ErrorReply).Decode(Frame{Payload: quoted.appendAsIs(nil, true)[:20]}); err != ErrShortPayload {
		t.Errorf("long header cut off: %v", err)
	}
	if err := new(SearchReply).Decode(Frame{Payload: []byte{0}}); err != ErrShortPayload {
		t.Errorf("one byte of minor revision: %v", err)
	}
}

// A search reply's payload is 8 bytes in base and was 2 in servers of old.
func TestSearchReplyPayloadMayBeTwoBytes(t *testing.T) {
	whole := encode(t, &SearchReply{Port: 5064, CID: 1, HasMinor: true, Minor: 11})
	short := bytes.Clone(whole[:18])
	short[3] = 2
	f, n, err := NextDatagram(short)
	if err != nil || n != 18 {
		t.Fatal(n, err)
	}
	m, err := Decode(f, Server, OnDatagram)
	if err != nil || m.(*SearchReply).Minor != 11 {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestZeroPayloadEventIsCancelReply(t *testing.T) {
	f, _, _ := Next(encode(t, &Event{Type: DBRChar, Status: ECANormal, SubscriptionID: 5}), 0)
	if m, err := Decode(f, Server, OnCircuit); err != nil || m.Kind() != KindEventCancelReply {
		t.Errorf("%v, %v", m, err)
	}
}
