package stream

import (
	"errors"
	"fmt"
	"hash/adler32"
	"hash/crc32"
	"strings"
	"testing"
)

// The bytes are those of StreamDevice's testChecksum: "123456789" behind nine
// bytes of name, with one blank in front of the check bytes.
func TestChecksumGolden(t *testing.T) {
	golden := map[string]string{
		"sum": "dd", "sum8": "dd", "sum16": "01dd", "sum32": "000001dd",
		"nsum": "23", "negsum": "23", "-sum": "23", "nsum8": "23", "negsum8": "23", "-sum8": "23",
		"nsum16": "fe23", "negsum16": "fe23", "-sum16": "fe23", "nsum32": "fffffe23", "negsum32": "fffffe23", "-sum32": "fffffe23",
		"notsum": "22", "~sum": "22", "xor": "31", "xor8": "31", "xor7": "31",
		"crc8": "f4", "ccitt8": "a1", "crc16": "fee8", "crc16r": "bb3d",
		"ccitt16": "29b1", "ccitt16a": "e5cc", "ccitt16x": "31c3", "crc16c": "31c3", "xmodem": "31c3",
		"crc32": "fc891918", "crc32r": "cbf43926", "jamcrc": "340bc6d9", "adler32": "091e01de", "hexsum8": "2d",
		"bitsum": "21", "bitsum8": "21", "bitsum16": "0021", "bitsum32": "00000021",
		// Not in that test: the check values in StreamDevice's table of checksums.
		"modbus": "4b37", "xor8ff": "ce", "cpi": "7e", "CPI": "7e", "leybold": "22", "brksCryo": "4a",
		"lrc": "23", "hexlrc": "a7", "hv_mps": "63",
	}
	for name, hex := range golden {
		var big, little, poor, poorLittle strings.Builder
		raw := fromHex(t, hex)
		for i := range raw {
			b, l := raw[i], raw[len(raw)-1-i]
			big.WriteByte(b)
			little.WriteByte(l)
			poor.Write([]byte{0x30 | b>>4, 0x30 | b&0xf})
			poorLittle.Write([]byte{0x30 | l>>4, 0x30 | l&0xf})
		}
		for flags, want := range map[string]string{
			"":   big.String(),
			"#":  little.String(),
			"0":  fmt.Sprintf("%X", big.String()),
			"#0": fmt.Sprintf("%X", little.String()),
			"-":  poor.String(),
			"#-": poorLittle.String(),
		} {
			text := fmt.Sprintf("%-9s%%s %%%s9.1<%s>", name, flags, name)
			f := mustParse(t, text, Options{})
			message := fmt.Sprintf("%-9s123456789 %s", name, want)
			got, err := f.Append([]byte("what was there"), Text("123456789"))
			if err != nil || string(got) != "what was there"+message {
				t.Errorf("%s: wrote %q, %v; want %q", text, got, err, message)
			}
			values, err := f.Match([]byte(message))
			if err != nil || values[0] != Text("123456789") {
				t.Errorf("%s on %q: %v, %v", text, message, values, err)
			}
			wrong := []byte(message)
			wrong[12] ^= 0x05 // two bits, so that the parity of bit sums changes, too
			if _, err := f.Match(wrong); !isReason(err, BadChecksum) && !strings.Contains(name, "bitsum") {
				t.Errorf("%s on %q: %v", text, wrong, err)
			}
			for n := len(message) - len(want); n < len(message); n++ {
				if _, err := f.Match([]byte(message[:n])); !isReason(err, Short) {
					t.Errorf("%s on %q: %v", text, message[:n], err)
				}
			}
		}
	}
}

func isReason(err error, r Reason) bool {
	var m *MismatchError
	return errors.As(err, &m) && m.Reason == r
}

func fromHex(t *testing.T, hex string) []byte {
	t.Helper()
	var out []byte
	for i := 0; i < len(hex); i += 2 {
		out = append(out, byte(digit(hex[i])<<4|digit(hex[i+1])))
	}
	return out
}

func TestEveryChecksumHasItsCheckValue(t *testing.T) {
	for _, a := range algorithms() {
		n := a.compute([]byte("123456789")) & (1<<(8*a.bytes) - 1)
		if n != uint64(a.check) {
			t.Errorf("%v: %#x, want %#x", a.names, n, a.check)
		}
		if n := a.compute(nil); n>>(8*a.bytes) != 0 {
			t.Errorf("%v of nothing: %#x is too long", a.names, n)
		}
	}
	data := []byte(strings.Repeat("\xff\x80\x00 pump 7", 900))
	if got := adler(data); got != uint64(adler32.Checksum(data)) {
		t.Errorf("adler32: %#x", got)
	}
	reflected := crc{width: 32, poly: 0x04c11db7, init: 0xffffffff, xorout: 0xffffffff, reflected: true}
	if got := reflected.sum(data); got != uint64(crc32.ChecksumIEEE(data)) {
		t.Errorf("crc32r: %#x", got)
	}
}

// Lines of StreamDevice's testStrangesum, testChecksum and documentation.
func TestChecksumRangesAndForms(t *testing.T) {
	runAppend(t, Options{}, []appendCase{
		{":%s%01<-hexsum8>", texts("010304010001"), ":010304010001F6", false},
		{"abcdefg%<xor>", nil, "abcdefg" + string([]byte{'a' ^ 'b' ^ 'c' ^ 'd' ^ 'e' ^ 'f' ^ 'g'}), false},
		{"abcdefg%2.1<xor>", nil, "abcdefg" + string([]byte{'c' ^ 'd' ^ 'e' ^ 'f'}), false},
		{"A%+<sum>", nil, "A065", false},
		{"A%+<sum16>", nil, "A00065", false},
		{"A%+<sum32>", nil, "A0000000065", false},
		{"A%+<sum digits 4>", nil, "A0065", false},
		{"A%0<sum digits 2>", nil, "A41", false},
		{"A%0<sum digits 4>", nil, "A0041", false},
		{"ab%3<sum>", nil, "", true},
		{"ab%1.2<sum>", nil, "", true},
		{"ab%2<sum>", nil, "ab\x00", false},
		{"A%<SUM>%<Sum16>", nil, "A\x41\x00\x82", false},
	})
	runMatch(t, Options{}, []matchCase{
		{"%3[0-9]%0<lrc>", "1236a", texts("123"), 0},
		{"%3[0-9]%0<lrc>", "1236A", texts("123"), 0},
		{"%3[0-9]%0<lrc>", "1236B", nil, BadChecksum},
		{"%3[0-9]%0<lrc>", "1236", nil, Short},
		{"A%+<sum>", "A065", nil, 0},
		{"A%+<sum>", "A 65", nil, BadChecksum},
		{"A%+<sum>", "A65", nil, Short},
		{"ab%3<sum>", "ab\x00", nil, Short},
	})
}

// 'SN?:' sums up to 282. ':=d' plus blanks and so on to a sum that ends in 07.
func TestSD07ModuloChecksum(t *testing.T) {
	f := mustParse(t, "%#s%+<sum mod 100>", Options{Direction: Out})
	for text, want := range map[string]string{"SN?:": "82", "SN?a!": "54", "A*": "07", "": "00"} {
		got, err := f.Append(nil, Text(text))
		if err != nil || string(got) != text+want {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
	runMatch(t, Options{}, []matchCase{
		{"%2c%+<sum mod 100>", "A*07", texts("A*"), 0},
		{"%2c%+<sum mod 100>", "A*08", nil, BadChecksum},
		{"%2c%+<sum mod 100>", "A*7", nil, Short},
		{"%2c%+<sum mod 100>", "A*007", nil, BadChecksum},
		{"%2c%+<-sum mod 100>", "A*93", texts("A*"), 0},
		{"%2c%<sum mod 100>", "A*\x07", texts("A*"), 0},
		{"%2c%0<sum16 mod 1000>", "A*006B", texts("A*"), 0},
		{"%2c%+<sum mod 256 digits 3>", "A*107", texts("A*"), 0},
		{"%2c%+<sum digits 3 mod 100>", "A*007", texts("A*"), 0},
		{"%2c%0<sum mod 100 digits 3>", "A*007", texts("A*"), 0},
	})
}

func TestChecksumMistakes(t *testing.T) {
	for text, at := range map[string]int{
		"%<crc>": 2, "%<negsum1>": 2, "%<>": 2, "ab%<sum": 2, "%<negcrc8>": 2, "%<nxor>": 2, "%<sum mod 1>": 2,
		"%<sum mod x>": 2, "%<sum mod 4294967296>": 2, "%<sum mod>": 2, "%<crc8 mod 10>": 2, "%<~sum mod 10>": 2, "%+<sum digits 2>": 3, "%<sum digits 3>": 2,
		"%<sum digits>": 2, "%<sum width 3>": 2, "%0-<sum>": 0, "%+#<sum>": 0, "%*<sum>": 0, "%(x)<sum>": 0, "%?<sum>": 0,
	} {
		_, err := Parse(text, Options{})
		var se *SyntaxError
		if !errors.As(err, &se) || se.Offset != at {
			t.Errorf("%s: %v; want an error at byte %d", text, err, at)
		}
	}
	_, err := Parse("%<crc>", Options{})
	for _, name := range checksumNames() {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%v does not name %s", err, name)
		}
	}
}

func TestNamesOfInverseChecksums(t *testing.T) {
	runAppend(t, Options{}, []appendCase{
		{"123456789%0<~crc16>", nil, "1234567890117", false},
		{"123456789%0<notxor>", nil, "123456789CE", false},
		{"123456789%0<nhexsum8>", nil, "123456789D3", false},
	})
}
