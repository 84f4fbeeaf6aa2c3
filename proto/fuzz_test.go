package proto

import (
	"strings"
	"testing"

	pbproto "google.golang.org/protobuf/proto"

	"github.com/polygate/gateway"
	pb "github.com/polygate/gateway/proto/polygate/v1"
)

// Each target feeds arbitrary bytes to one decoder. What is accepted must be
// accepted by the generated code, too, and must survive a round trip: decoding
// what was encoded from it gives the same bytes again.

func fuzzMessage(f *testing.F, kind string, decode func(*Decoder, []byte) (any, error), twin func() pbproto.Message, encode func(any) ([]byte, error)) {
	f.Helper()
	for _, c := range codecCases() {
		b, err := c.append(nil)
		if err != nil {
			f.Fatal(err)
		}
		if strings.HasPrefix(c.name, kind+" ") && len(b) < 1<<12 {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := decode(new(Decoder), b)
		if err != nil {
			return
		}
		if err := pbproto.Unmarshal(b, twin()); err != nil {
			t.Fatalf("the generated code refuses it: %v", err)
		}
		once, err := encode(m)
		if err != nil {
			t.Fatalf("what was decoded cannot be encoded: %v", err)
		}
		again, err := decode(new(Decoder), once)
		if err != nil {
			t.Fatalf("what was encoded cannot be decoded: %v", err)
		}
		twice, err := encode(again)
		if err != nil || string(once) != string(twice) {
			t.Fatalf("%x\nbecame %x, %v", once, twice, err)
		}
	})
}

func FuzzUpdate(f *testing.F) {
	fuzzMessage(f, "update", decodeUpdate, func() pbproto.Message { return new(pb.Update) },
		func(m any) ([]byte, error) { return AppendUpdate(nil, m.(*gateway.Update)) })
}

func FuzzAnnouncement(f *testing.F) {
	fuzzMessage(f, "announcement", decodeAnnouncement, func() pbproto.Message { return new(pb.Announcement) },
		func(m any) ([]byte, error) { return AppendAnnouncement(nil, m.(*gateway.Announcement)) })
}

func FuzzDeviceState(f *testing.F) {
	fuzzMessage(f, "state", decodeDeviceState, func() pbproto.Message { return new(pb.DeviceState) },
		func(m any) ([]byte, error) { return AppendDeviceState(nil, m.(*gateway.DeviceState)) })
}

func FuzzPut(f *testing.F) {
	fuzzMessage(f, "put", decodePut, func() pbproto.Message { return new(pb.Put) },
		func(m any) ([]byte, error) { return AppendPut(nil, m.(*gateway.Put)) })
}

func FuzzPutVerdict(f *testing.F) {
	fuzzMessage(f, "verdict", decodePutVerdict, func() pbproto.Message { return new(pb.PutVerdict) },
		func(m any) ([]byte, error) { return AppendPutVerdict(nil, m.(*gateway.PutVerdict)) })
}

func FuzzOwner(f *testing.F) {
	f.Add([]byte("\x0a\x0a\x0a\x04oven\x12\x02i1"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if o, err := new(Decoder).Owner(b); err == nil && (o.Device == "" || o.Instance == "") {
			t.Fatalf("%+v", o)
		}
	})
}
