package serial_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/polygate/gateway"
)

// say writes to the line as the instrument.
func (r *rig) say(pieces ...string) {
	r.t.Helper()
	for _, piece := range pieces {
		if _, err := io.WriteString(r.pair, piece); err != nil {
			r.t.Fatal(err)
		}
	}
}

func TestSD12UnsolicitedLinesInRandomPieces(t *testing.T) {
	r := wire(t, limit, `
in_terminator: "\r\n"
read_timeout: 10s
attributes:
  val: {kind: int32}
  sn: {kind: string}
queries:
  line: {listen: "ch=7,val=%d,sn=%s", values: [val, sn]}
`).connect()
	random := rand.New(rand.NewPCG(1, 2))
	var text, want string
	const lines = 200
	for i := range lines {
		text += fmt.Sprintf("ch=7,val=%d,sn=ab%dcd\r\n", i, i)
		if i%10 == 0 {
			text += "\r\n" // An empty line is no error.
		}
		want += fmt.Sprintf("val=%d, sn=ab%dcd, ", i, i)
	}
	for len(text) > 0 {
		n := min(1+random.IntN(16), len(text))
		r.say(text[:n])
		text = text[n:]
	}
	r.delivered(fmt.Sprintf("val=%d,", lines-1))
	r.sink.mu.Lock()
	defer r.sink.mu.Unlock()
	expect(t, r.show(r.sink.readings)+", ", want)
}

// TestSD24FixedLength starts in the middle of a frame, and loses a byte of a
// later one: the pause between frames brings them back in step.
func TestSD24FixedLength(t *testing.T) {
	r := wire(t, limit, `
reply_length: 5
in_terminator: ""
read_timeout: 150ms
attributes:
  v: {kind: int32, listen: "A%3dZ"}
`).connect()
	pause := func() {
		// More than the read timeout, without which nothing would end a frame.
		<-time.After(400 * time.Millisecond)
	}
	r.say("00Z")
	pause()
	r.say("A", "001Z")
	pause()
	r.say("A02Z")
	pause()
	r.say("A003Z", "A004", "Z")
	r.delivered("v=4")
	r.sink.mu.Lock()
	defer r.sink.mu.Unlock()
	expect(t, r.show(r.sink.readings), "v=1, v=3, v=4")
}

// TestSD24LengthFromTheData starts in the middle of a frame, where the length
// is what happens to stand there: what replies begin with tells where the next is.
func TestSD24LengthFromTheData(t *testing.T) {
	r := wire(t, limit, `
reply_length: {start: '\x55\xaa', at: 2, plus: 4}
read_timeout: 5s
attributes:
  v: {kind: int32, listen: '\x55\xaa%*1r%d%<sum>'}
`).connect()
	frame := func(text string) string {
		b := append([]byte{0x55, 0xaa, byte(len(text))}, text...)
		sum := byte(0)
		for _, c := range b {
			sum += c
		}
		return string(append(b, sum))
	}
	one, two, three := frame("17"), frame("-4"), frame("12345")
	r.say(one[3:]+two, three[:4], three[4:]+frame("9")[:5])
	r.delivered("v=12345")
	r.sink.mu.Lock()
	defer r.sink.mu.Unlock()
	expect(t, r.show(r.sink.readings), "v=-4, v=12345")
}

// TestCheckByteBehindTheTerminator speaks EI-Bisynch, as Eurotherm 2000
// controllers do: the check byte, which may look like the terminator, is the
// exclusive or of what stands between STX and ETX, ETX included.
func TestCheckByteBehindTheTerminator(t *testing.T) {
	r := wire(t, limit, `
address: "0011"
out_terminator: ""
in_terminator: '\x03'
check_bytes: 1
reply_timeout: 5s
attributes:
  pv: {kind: float64, read: '\x04{address}PV\x05', reply: '\x02PV%f\x03%1<xor>', poll: 1s}
`)
	go func() {
		request := make([]byte, len("\x040011PV\x05"))
		for _, reply := range []string{"\x02PV25.0\x03", "\x02PV25.0\x03", "\x02PV25.1\x03"} {
			if _, err := io.ReadFull(r.pair, request); err != nil {
				return
			}
			bcc := byte(0)
			for _, c := range []byte(reply[1:]) {
				bcc ^= c
			}
			if reply == "\x02PV25.1\x03" {
				bcc ^= 1
			}
			if _, err := r.pair.Write(append([]byte(reply), bcc)); err != nil {
				return
			}
		}
	}()
	r.connect()
	expect(t, r.poll("pv"), "pv=25")
	expect(t, r.poll("pv"), "pv= INVALID/CALC")
}

// TestReadingsHaveTheirType keeps a promise of the package: what is read has the
// attribute's own type.
func TestReadingsHaveTheirType(t *testing.T) {
	r := plug(t, head+`
attributes:
  a: {kind: uint8, read: "A?", reply: "%d", poll: 1s}
  b: {kind: float32, read: "A?", reply: "%f", poll: 1s}
  c: {kind: string, read: "A?", reply: "%s", poll: 1s}
  d: {kind: int16, shape: 2, read: "A?", reply: "%d", poll: 1s}
  e: {kind: bytes, read: "A?", reply: "%s", poll: 1s}
`)
	r.instrument.Answer("A?", "7")
	r.connect()
	expect(t, r.poll("a"), "a=7, b=7, c=7, d=[7], e=7")
	readings, err := r.driver.Poll(r.ctx, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []gateway.Kind
	for _, x := range readings {
		kinds = append(kinds, x.Value.Kind())
		if err := r.model.Attributes[x.Index].Check(x.Value); err != nil {
			t.Error(err)
		}
	}
	if want := []gateway.Kind{gateway.Uint8, gateway.Float32, gateway.String, gateway.Int16, gateway.Bytes}; !slices.Equal(kinds, want) {
		t.Errorf("got %v, want %v", kinds, want)
	}
}
