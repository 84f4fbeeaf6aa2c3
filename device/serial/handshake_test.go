package serial_test

import (
	"slices"
	"testing"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device/devicetest"
)

// A gauge wants two messages for one reading: the first is acknowledged, the
// second fetches the value.
const gauge = `
terminator: "\r\n"
reply_timeout: 500ms
refusals: ['\x15']
attributes:
  p: {kind: float64, read: [{send: PR1, reply: '\x06'}, GET], reply: "%f", poll: 1s}
  q: {kind: float64, access: rw, read: [{send: PR2, reply: '\x06'}, GET], reply: "%f", poll: 1s,
      write: [{send: "PR2,%f", reply: '\x06'}, {send: GET, reply: "%=f"}]}
`

func TestAReadOfSeveralSteps(t *testing.T) {
	r := plug(t, gauge)
	r.instrument.Answer("PR1", "\x06")
	r.instrument.Answer("PR2", "\x06")
	asked := ""
	r.instrument.Handle(func(request string) (string, bool) { return asked, true })
	r.connect()
	asked = "1.5"
	expect(t, r.poll("p"), "p=1.5")
	asked = "2.5"
	expect(t, r.poll("q"), "q=2.5")
	r.instrument.Spoil("PR1", devicetest.Fault{Raw: "\x15\r\n"})
	before := len(r.instrument.Requests())
	expect(t, r.poll("p"), "p= INVALID/CALC")
	r.instrument.Spoil("PR1", devicetest.Fault{Silent: true})
	expect(t, r.poll("p"), "p= INVALID/TIMEOUT")
	if got := r.instrument.Requests()[before:]; slices.Contains(got, "GET") {
		t.Errorf("it was asked for a value that it had not got ready: %q", got)
	}
	expect(t, r.poll("p"), "p=2.5")
}

func TestWhatStandsInFrontOfEveryReadAndWrite(t *testing.T) {
	r := plug(t, `
address: 6
terminator: "\r\n"
reply_timeout: 500ms
before: {send: "ADR {address}", reply: OK}
attributes:
  v: {kind: float64, access: rw, read: "V?", reply: "%f", write: "V %g", write_reply: OK, poll: 1s}
`)
	r.instrument.Answer("ADR 6", "OK")
	r.instrument.Answer("V?", "1.5")
	r.instrument.Answer("V 1.5", "OK")
	r.connect()
	expect(t, r.poll("v"), "v=1.5")
	if o := r.driver.Put(r.ctx, 0, gateway.Of(1.5)); o.Err != nil || o.Stage != gateway.StageVerified {
		t.Errorf("put: %v %v", o.Stage, o.Err)
	}
	want := []string{"ADR 6", "V?", "ADR 6", "V?", "ADR 6", "V 1.5", "ADR 6", "V?"}
	if got := r.instrument.Requests(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	// A device that does not listen is not told anything.
	r.instrument.Spoil("ADR 6", devicetest.Fault{Silent: true})
	before := len(r.instrument.Requests())
	o := r.driver.Put(r.ctx, 0, gateway.Of(1.5))
	if gateway.KindOf(o.Err) != gateway.KindNotConnected || o.Stage >= gateway.StageSent {
		t.Errorf("put to a device that does not listen: %v %v", o.Stage, o.Err)
	}
	if got := r.instrument.Requests()[before:]; !slices.Equal(got, []string{"ADR 6"}) {
		t.Errorf("it was told %q", got)
	}
}

// A line that came before a step was sent is not the reply to it.
func TestAnAnswerTooManyIsNotTakenForTheNextStep(t *testing.T) {
	r := plug(t, `
terminator: "\r\n"
reply_timeout: 500ms
attributes:
  v: {kind: int32, access: w, write: [{send: A, reply: OK}, {send: "B %d", reply: OK}]}
`)
	r.instrument.Answer("A", "OK\r\nOK")
	r.connect()
	o := r.driver.Put(r.ctx, 0, gateway.Of(int32(1)))
	if gateway.KindOf(o.Err) != gateway.KindUnknownOutcome {
		t.Errorf("nothing acknowledged the second step: %v %v", o.Stage, o.Err)
	}
}

func TestBytesThatAreAReplyByThemselves(t *testing.T) {
	r := wire(t, limit, `
in_terminator: "\x03"
check_bytes: 1
lone_bytes: '\x06\x15'
refusals: ['\x15']
attributes:
  v: {kind: float64, access: w, write: '\x02V%g\x03%1<xor>', write_reply: '\x06'}
`)
	devicetest.StartInstrument(t, r.pair, devicetest.Line{RequestEnd: "\x03", ReplyEnd: ""}).Handle(func(request string) (string, bool) {
		return map[bool]string{true: "\x06", false: "\x15"}[request == "\x02V1"], true
	})
	r.connect()
	if o := r.driver.Put(r.ctx, 0, gateway.Of(1.0)); o.Err != nil || o.Stage != gateway.StageAcknowledged {
		t.Errorf("put: %v %v", o.Stage, o.Err)
	}
	if o := r.driver.Put(r.ctx, 0, gateway.Of(2.0)); gateway.KindOf(o.Err) != gateway.KindRefusedByDevice {
		t.Errorf("put: %v %v", o.Stage, o.Err)
	}
}

func TestSignOfANumberInHexadecimal(t *testing.T) {
	r := plug(t, `
terminator: "\r\n"
attributes:
  v: {kind: float64, scale: 0.1, sign_bits: 16, read: "V?", reply: "%x", poll: 1s}
`).connect()
	for said, want := range map[string]string{"FFFF": "v=-0.1", "8000": "v=-3276.8", "7FFF": "v=3276.7", "00F0": "v=24", "0003": "v=0.3"} {
		r.instrument.Answer("V?", said)
		expect(t, r.poll("v"), want)
	}
}
