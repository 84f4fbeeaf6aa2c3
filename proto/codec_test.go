package proto

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/prototext"
	pbproto "google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/polygate/gateway"
	pb "github.com/polygate/gateway/proto/polygate/v1"
)

// A codecCase is one message with its own codec and its generated twin.
type codecCase struct {
	name   string
	want   any
	append func([]byte) ([]byte, error)
	decode func(*Decoder, []byte) (any, error)
	twin   pbproto.Message // generated, with the same content
}

func codecCases() []codecCase {
	var cases []codecCase
	add := func(name string, i int, c codecCase) {
		c.name = fmt.Sprintf("%s %d", name, i)
		cases = append(cases, c)
	}
	for i, m := range updates() {
		add("update", i, codecCase{
			want: m, twin: pbUpdate(m),
			append: func(b []byte) ([]byte, error) { return AppendUpdate(b, m) },
			decode: decodeUpdate,
		})
	}
	for i, m := range announcements() {
		add("announcement", i, codecCase{
			want: m, twin: pbAnnouncement(m),
			append: func(b []byte) ([]byte, error) { return AppendAnnouncement(b, m) },
			decode: decodeAnnouncement,
		})
	}
	for i, m := range deviceStates() {
		add("state", i, codecCase{
			want: m, twin: pbDeviceState(m),
			append: func(b []byte) ([]byte, error) { return AppendDeviceState(b, m) },
			decode: decodeDeviceState,
		})
	}
	for i, m := range puts() {
		add("put", i, codecCase{
			want: m, twin: pbPut(m),
			append: func(b []byte) ([]byte, error) { return AppendPut(b, m) },
			decode: decodePut,
		})
	}
	for i, m := range verdicts() {
		add("verdict", i, codecCase{
			want: m, twin: pbPutVerdict(m),
			append: func(b []byte) ([]byte, error) { return AppendPutVerdict(b, m) },
			decode: decodePutVerdict,
		})
	}
	return cases
}

func decodeUpdate(d *Decoder, b []byte) (any, error)       { return d.Update(b) }
func decodeAnnouncement(d *Decoder, b []byte) (any, error) { return d.Announcement(b) }
func decodeDeviceState(d *Decoder, b []byte) (any, error)  { return d.DeviceState(b) }
func decodePut(d *Decoder, b []byte) (any, error)          { return d.Put(b) }
func decodePutVerdict(d *Decoder, b []byte) (any, error)   { return d.PutVerdict(b) }

var compareValues = cmp.Comparer(func(a, b gateway.Value) bool {
	return a.Equal(b) && a.IsArray() == b.IsArray()
})

func (c *codecCase) check(t *testing.T, d *Decoder, b []byte) {
	t.Helper()
	got, err := c.decode(d, b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c.want, got, compareValues); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsWrittenIsReadByGeneratedCode(t *testing.T) {
	for _, c := range codecCases() {
		t.Run(c.name, func(t *testing.T) {
			b, err := c.append(nil)
			if err != nil {
				t.Fatal(err)
			}
			got := c.twin.ProtoReflect().New().Interface()
			if err := pbproto.Unmarshal(b, got); err != nil {
				t.Fatal(err)
			}
			if !pbproto.Equal(got, c.twin) {
				t.Errorf("got %s\nwant %s", prototext.Format(got), prototext.Format(c.twin))
			}
		})
	}
}

func TestWhatGeneratedCodeWritesIsRead(t *testing.T) {
	d := new(Decoder) // one for all: what it remembers must not matter
	for _, c := range codecCases() {
		t.Run(c.name, func(t *testing.T) {
			b, err := pbproto.MarshalOptions{Deterministic: true}.Marshal(c.twin)
			if err != nil {
				t.Fatal(err)
			}
			c.check(t, d, b)
			own, err := c.append(nil)
			if err != nil {
				t.Fatal(err)
			}
			if string(own) != string(b) {
				t.Errorf("own bytes differ:\n%x\n%x", own, b)
			}
		})
	}
}

func TestUnknownFieldsArePassedOver(t *testing.T) {
	for _, c := range codecCases() {
		b, err := c.append([]byte{0xf8, 0x7f, 5, 0xfb, 0x7f, 0xfc, 0x7f}) // field 2047 as a number and as a group
		if err != nil {
			t.Fatal(err)
		}
		c.check(t, new(Decoder), append(b, 0xfa, 0x7f, 2, 0xff, 0xff)) // and as bytes
	}
}

func TestTruncatedMessagesAreNoTrouble(t *testing.T) {
	d := new(Decoder)
	for _, c := range codecCases() {
		b, err := c.append(nil)
		if err != nil {
			t.Fatal(err)
		}
		step := 1 + len(b)/2000
		// The last 4 bytes may hold nothing but empty messages.
		for cut := 0; cut < len(b)-4; cut += step {
			// Between two fields a message can end; elsewhere that is an error.
			if m, err := c.decode(d, b[:cut]); err == nil && reflect.DeepEqual(m, c.want) {
				t.Errorf("%s: complete after %d of %d bytes", c.name, cut, len(b))
			}
		}
	}
}

func TestAppendKeepsWhatIsThere(t *testing.T) {
	for _, c := range codecCases() {
		b, err := c.append([]byte("before"))
		if err != nil || !strings.HasPrefix(string(b), "before") {
			t.Errorf("%s: %q, %v", c.name, b[:6], err)
		}
		c.check(t, new(Decoder), b[len("before"):])
	}
}

func TestArraysMayComeUnpacked(t *testing.T) {
	// Elements 3 and -2 as two fields, then 5 and 6 packed.
	for _, c := range []struct {
		field byte
		body  string
		want  gateway.Value
	}{
		{byte(gateway.Int16) + 16, "\x08\x06\x08\x03\x0a\x02\x0a\x0c", gateway.ArrayOf([]int16{3, -2, 5, 6})},
		{byte(gateway.Int32) + 16, "\x0d\x03\x00\x00\x00\x0d\xfe\xff\xff\xff\x0a\x08\x05\x00\x00\x00\x06\x00\x00\x00", gateway.ArrayOf([]int32{3, -2, 5, 6})},
		{byte(gateway.Int64) + 16, "\x09\x03\x00\x00\x00\x00\x00\x00\x00", gateway.ArrayOf([]int64{3})},
	} {
		b := append([]byte{c.field<<3 | 2, 1, byte(len(c.body))}, c.body...)
		var got gateway.Value
		if err := new(Decoder).value(b, &got); err != nil || !got.Equal(c.want) {
			t.Errorf("%v: %v, %v", c.want.Array(), got.Array(), err)
		}
	}
}

func TestNumbersAreThoseOfTheModel(t *testing.T) {
	// The numbers of iota constants go onto the wire: inserting one in the
	// middle must not pass unnoticed.
	same := func(enum protoreflect.Enum, prefix, name string) {
		t.Helper()
		value := enum.Descriptor().Values().ByNumber(enum.Number())
		if value == nil {
			t.Errorf("%s has no number %d", prefix, enum.Number())
			return
		}
		if want := prefix + strings.ToUpper(name); string(value.Name()) != want {
			t.Errorf("%d is %s, the model says %s", enum.Number(), value.Name(), want)
		}
	}
	for k := gateway.Bool; k <= gateway.Enum; k++ {
		same(pb.Kind(k), "KIND_", k.String())
	}
	for s := gateway.NoAlarm; s <= gateway.Invalid; s++ {
		same(pb.Severity(s), "SEVERITY_", s.String())
	}
	for s := gateway.StatusNone; s <= gateway.StatusWriteAccess; s++ {
		same(pb.Status(s), "STATUS_", s.String())
	}
	for _, k := range gateway.ErrorKinds() {
		same(pb.ErrorKind(k), "ERROR_KIND_", k.String())
	}
	for s := gateway.StageRefused; s <= gateway.StageVerified; s++ {
		same(pb.Stage(s), "STAGE_", s.String())
	}
	same(pb.Role(gateway.Readback), "ROLE_", "readback")
	same(pb.Role(gateway.Setpoint), "ROLE_", "setpoint")
	same(pb.Mode(gateway.Each), "MODE_", "each")
	same(pb.Mode(gateway.Latest), "MODE_", "latest")
	same(pb.Access(gateway.AccessRead), "ACCESS_", "read")
	same(pb.Access(gateway.AccessWrite), "ACCESS_", "write")
	same(pb.Access(gateway.AccessReadWrite), "ACCESS_", "read_write")
	same(pb.Access(gateway.AccessExecute), "ACCESS_", "execute")
	if n := pb.ErrorKind(0).Descriptor().Values().Len(); n != len(gateway.ErrorKinds())+1 {
		t.Errorf("%d error kinds, the model has %d", n-1, len(gateway.ErrorKinds()))
	}
	fields := new(pb.Value).ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		if n := fields.Get(i).Number(); n == 15 || n == 31 {
			t.Errorf("%s takes the number %d, which is kept for tables", fields.Get(i).Name(), n)
		}
	}
}
