package pdu_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/polygate/gateway/device/modbus/pdu"
)

// unhex reads bytes as the specification writes them.
func unhex(tb testing.TB, text string) []byte {
	tb.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// specified are the examples of the application protocol specification V1.1b3,
// section 6, and the same requests and replies as pymodbus 3.16.1 frames them
// for unit 17 and, on TCP, transaction 0x1501.
var specified = []struct {
	section             string
	request             pdu.Request
	asked, reply        string
	data                string
	rtuAsked, rtuReply  string
	exception, wrongFor string
}{
	{
		section: "6.1", request: pdu.Request{Function: pdu.ReadCoils, Address: 19, Quantity: 19},
		asked: "01 0013 0013", reply: "01 03 CD6B05", data: "CD6B05",
		rtuAsked: "11 01 00130013 8E92", rtuReply: "11 01 03 CD6B05 4012",
		exception: "81 02", wrongFor: "01 02 CD6B",
	},
	{
		section: "6.2", request: pdu.Request{Function: pdu.ReadDiscreteInputs, Address: 196, Quantity: 22},
		asked: "02 00C4 0016", reply: "02 03 ACDB35", data: "ACDB35",
		rtuAsked: "11 02 00C40016 BAA9", rtuReply: "11 02 03 ACDB35 2018",
		exception: "82 03", wrongFor: "02 04 ACDB3500",
	},
	{
		section: "6.3", request: pdu.Request{Function: pdu.ReadHoldingRegisters, Address: 107, Quantity: 3},
		asked: "03 006B 0003", reply: "03 06 022B00000064", data: "022B00000064",
		rtuAsked: "11 03 006B0003 7687", rtuReply: "11 03 06 022B00000064 C8BA",
		exception: "83 02", wrongFor: "03 04 022B0000",
	},
	{
		section: "6.4", request: pdu.Request{Function: pdu.ReadInputRegisters, Address: 8, Quantity: 1},
		asked: "04 0008 0001", reply: "04 02 000A", data: "000A",
		rtuAsked: "11 04 00080001 B298", rtuReply: "11 04 02 000A F8F4",
		exception: "84 01", wrongFor: "03 02 000A",
	},
	{
		section: "6.5", request: pdu.Request{Function: pdu.WriteSingleCoil, Address: 172, Data: []byte{0xFF, 0}},
		asked: "05 00AC FF00", reply: "05 00AC FF00",
		rtuAsked: "11 05 00ACFF00 4E8B", rtuReply: "11 05 00ACFF00 4E8B",
		exception: "85 03", wrongFor: "05 00AC 0000",
	},
	{
		section: "6.6", request: pdu.Request{Function: pdu.WriteSingleRegister, Address: 1, Data: []byte{0, 3}},
		asked: "06 0001 0003", reply: "06 0001 0003",
		rtuAsked: "11 06 00010003 9A9B", rtuReply: "11 06 00010003 9A9B",
		exception: "86 04", wrongFor: "06 0002 0003",
	},
	{
		section: "6.11", request: pdu.Request{Function: pdu.WriteMultipleCoils, Address: 19, Quantity: 10, Data: []byte{0xCD, 0x01}},
		asked: "0F 0013 000A 02 CD01", reply: "0F 0013 000A",
		rtuAsked: "11 0F 0013000A02CD01 BF0B", rtuReply: "11 0F 0013000A 2699",
		exception: "8F 02", wrongFor: "0F 0013 0009",
	},
	{
		section: "6.12", request: pdu.Request{Function: pdu.WriteMultipleRegisters, Address: 1, Quantity: 2, Data: []byte{0, 0x0A, 0x01, 0x02}},
		asked: "10 0001 0002 04 000A0102", reply: "10 0001 0002",
		rtuAsked: "11 10 0001000204000A0102 C6F0", rtuReply: "11 10 00010002 1298",
		exception: "90 03", wrongFor: "10 0001 0003",
	},
	{
		section: "6.16", request: pdu.Request{Function: pdu.MaskWriteRegister, Address: 4, Data: []byte{0, 0xF2, 0, 0x25}},
		asked: "16 0004 00F2 0025", reply: "16 0004 00F2 0025",
		rtuAsked: "11 16 000400F20025 66E2", rtuReply: "11 16 000400F20025 66E2",
		exception: "96 02", wrongFor: "16 0004 00F2 0024",
	},
}

func TestSpecifiedExamples(t *testing.T) {
	for _, x := range specified {
		t.Run(x.section, func(t *testing.T) {
			if got := x.request.Append(nil); !bytes.Equal(got, unhex(t, x.asked)) {
				t.Errorf("the request is %X", got)
			}
			data, err := x.request.Reply(unhex(t, x.reply))
			if err != nil || !bytes.Equal(data, unhex(t, x.data)) {
				t.Errorf("the reply gives %X, %v", data, err)
			}
			said := unhex(t, x.exception)
			var exception pdu.Exception
			if _, err := x.request.Reply(said); !errors.As(err, &exception) || byte(exception) != said[1] {
				t.Errorf("the exception gives %v", err)
			}
			if _, err := x.request.Reply(unhex(t, x.wrongFor)); !errors.Is(err, pdu.ErrNotReply) {
				t.Errorf("the reply to another request gives %v", err)
			}
			if got := pdu.AppendRTU(nil, 17, x.request.Append(nil)); !bytes.Equal(got, unhex(t, x.rtuAsked)) {
				t.Errorf("the RTU frame is %X", got)
			}
			f, n, err := pdu.CutRTU(unhex(t, x.rtuReply))
			if err != nil || n == 0 || f.Unit != 17 || !bytes.Equal(f.PDU, unhex(t, x.reply)) {
				t.Errorf("the RTU reply gives %+v, %d, %v", f, n, err)
			}
		})
	}
}

func TestRepliesThatAreNone(t *testing.T) {
	for _, x := range specified {
		for _, said := range []string{"", "01", "83", "C1 02", x.reply + "00", x.reply[:len(x.reply)-2], x.exception + "00", "FF FF"} {
			if _, err := x.request.Reply(unhex(t, said)); !errors.Is(err, pdu.ErrNotReply) {
				t.Errorf("%s: %s gives %v", x.section, said, err)
			}
		}
	}
}

func TestCRC(t *testing.T) {
	// The example of the serial line specification V1.02, section 6.2.2: 02 07
	// is followed by 41 12. And the check value of CRC-16/MODBUS in catalogues.
	for text, want := range map[string]uint16{"\x02\x07": 0x1241, "123456789": 0x4B37} {
		if got := pdu.CRC([]byte(text)); got != want {
			t.Errorf("%q: %04X, want %04X", text, got, want)
		}
	}
}

func TestRTUReplySplitAtEveryByte(t *testing.T) {
	for _, x := range specified {
		for _, frame := range [][]byte{unhex(t, x.rtuReply), pdu.AppendRTU(nil, 17, unhex(t, x.exception))} {
			for n := range frame {
				if _, got, err := pdu.CutRTU(frame[:n]); got != 0 || err != nil {
					t.Errorf("%s: %d of %d bytes give %d, %v", x.section, n, len(frame), got, err)
				}
			}
			if _, n, err := pdu.CutRTU(append(bytes.Clone(frame), 0xFF)); n != len(frame) || err != nil {
				t.Errorf("%s: the whole gives %d, %v", x.section, n, err)
			}
			frame[len(frame)-1] ^= 1
			if _, n, err := pdu.CutRTU(frame); n != 0 || !errors.Is(err, pdu.ErrCheck) {
				t.Errorf("%s: with wrong check bytes it gives %d, %v", x.section, n, err)
			}
		}
	}
}

func TestNoRTUFrame(t *testing.T) {
	for _, text := range []string{
		"01 00", "01 2B", "01 FF", // functions that are not spoken
		"01 03 00", "01 03 03", "01 03 FC", "01 01 00", // lengths that cannot be
	} {
		if _, n, err := pdu.CutRTU(unhex(t, text)); n != 0 || !errors.Is(err, pdu.ErrNoFrame) {
			t.Errorf("%s gives %d, %v", text, n, err)
		}
	}
}

func TestTCPSplitAtEveryByte(t *testing.T) {
	// As pymodbus 3.16.1 frames the request of section 6.3.
	want := unhex(t, "1501 0000 0006 11 03 006B 0003")
	request := specified[2].request
	if got := pdu.AppendTCP(nil, 0x1501, 17, request.Append(nil)); !bytes.Equal(got, want) {
		t.Errorf("the frame is %X", got)
	}
	for n := range want {
		if _, got, err := pdu.CutTCP(want[:n]); got != 0 || err != nil {
			t.Errorf("%d bytes give %d, %v", n, got, err)
		}
	}
	f, n, err := pdu.CutTCP(append(bytes.Clone(want), 0x15))
	if err != nil || n != len(want) || f.Transaction != 0x1501 || f.Unit != 17 || !bytes.Equal(f.PDU, want[7:]) {
		t.Errorf("the whole gives %+v, %d, %v", f, n, err)
	}
}

func TestNoTCPFrame(t *testing.T) {
	for _, text := range []string{
		"0001 0001 0006 01 03", // another protocol
		"0001 0000 0001 01 03", // no function
		"0001 0000 00FF 01 03", // longer than any
	} {
		if _, n, err := pdu.CutTCP(unhex(t, text)); n != 0 || !errors.Is(err, pdu.ErrNoFrame) {
			t.Errorf("%s gives %d, %v", text, n, err)
		}
	}
}

// FuzzCut feeds both framings: no panic, no frame beyond what is there, and what
// was cut is what would be appended.
func FuzzCut(f *testing.F) {
	for _, x := range specified {
		f.Add(unhex(f, x.rtuReply))
		f.Add(pdu.AppendTCP(nil, 1, 17, unhex(f, x.reply)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if frame, n, err := pdu.CutRTU(b); n > 0 {
			if err != nil || n > len(b) || !bytes.Equal(pdu.AppendRTU(nil, frame.Unit, frame.PDU), b[:n]) {
				t.Errorf("RTU: %+v, %d, %v", frame, n, err)
			}
		}
		if frame, n, err := pdu.CutTCP(b); n > 0 {
			if err != nil || n > len(b) || !bytes.Equal(pdu.AppendTCP(nil, frame.Transaction, frame.Unit, frame.PDU), b[:n]) {
				t.Errorf("TCP: %+v, %d, %v", frame, n, err)
			}
		}
	})
}

// FuzzReply reads any bytes as the reply to any request: a read gives exactly
// what was asked for.
func FuzzReply(f *testing.F) {
	for _, x := range specified {
		f.Add(byte(x.request.Function), x.request.Address, x.request.Quantity, x.request.Data, unhex(f, x.reply))
		f.Add(byte(x.request.Function), x.request.Address, x.request.Quantity, x.request.Data, unhex(f, x.exception))
	}
	f.Fuzz(func(t *testing.T, function byte, address, quantity uint16, data, reply []byte) {
		if len(data) > 246 {
			return
		}
		r := pdu.Request{Function: pdu.Function(function), Address: address, Quantity: quantity, Data: data}
		read, err := r.Reply(reply)
		if err == nil && r.Function.IsRead() && len(read) != r.ReplyBytes() {
			t.Errorf("%d bytes for %d", len(read), quantity)
		}
	})
}

func BenchmarkCRC(b *testing.B) {
	frame := make([]byte, 255)
	b.SetBytes(int64(len(frame)))
	for b.Loop() {
		pdu.CRC(frame)
	}
}
