package ca

import (
	"fmt"
	"math"
	"testing"

	"github.com/polygate/gateway/ca/cawire"
)

func texts(s ...string) cawire.Values      { return cawire.Values{Strings: s} }
func numbers(f ...float64) cawire.Values   { return cawire.Values{Doubles: f} }
func characters(text string) cawire.Values { return cawire.Values{Chars: []byte(text)} }

// TestWritesDifferFromAnIOCOnPurposeOnly puts, and compares the verdict and what a
// read shows then. A deviation says why the two differ; then they must.
func TestWritesDifferFromAnIOCOnPurposeOnly(t *testing.T) {
	pair := startTwins(t, append(twins(), moreTwins()...))
	ours := dialTester(t, pair.server.Addr().String(), cawire.MinorCurrent)
	theirs := dialTester(t, pair.ioc, cawire.MinorCurrent)
	const (
		noGuess = "no value is guessed or cut"
		nothing = "there is nothing to put"
		clear   = "it is unambiguous"
	)
	for _, x := range []struct {
		pv        string
		typ       cawire.Type
		values    cawire.Values
		deviation string
	}{
		{"T:Free", cawire.DBRString, texts(" 5.25 "), ""},
		{"T:Free", cawire.DBRString, texts("0x10"), ""},
		{"T:Free", cawire.DBRString, texts("-0"), ""},
		{"T:Free", cawire.DBRString, texts(".5"), ""},
		{"T:Free", cawire.DBRString, texts("Infinity"), ""},
		{"T:Free", cawire.DBRString, texts("1e400"), ""},
		{"T:Free", cawire.DBRString, texts("warm"), ""},
		{"T:Free", cawire.DBRString, texts("5", "6"), ""},
		{"T:Free", cawire.DBRString, texts("5 mm"), noGuess},
		{"T:Free", cawire.DBRString, texts(""), noGuess},
		{"T:Free", cawire.DBRDouble, numbers(math.NaN()), ""},
		{"T:Free", cawire.DBRDouble, numbers(math.Inf(-1)), ""},
		{"T:Free", cawire.DBRDouble, numbers(5, 6), ""},
		{"T:Free", cawire.DBRDouble, numbers(), nothing},
		{"T:Free", cawire.DBRFloat, cawire.Values{Floats: []float32{0.1}}, ""},
		{"T:Free", cawire.DBREnum, cawire.Values{Enums: []uint16{65535}}, ""},
		{"T:Free", cawire.DBRLong, cawire.Values{Longs: []int32{math.MinInt32}}, ""},
		{"T:Free", cawire.DBRTimeDouble, numbers(5), ""},
		{"T:Free", cawire.DBRClassName, texts("5"), ""},
		{"T:Free", cawire.DBRPutAckS, cawire.Values{Enums: []uint16{1}}, "alarms are not acknowledged here"},
		{"T:Count", cawire.DBRString, texts("010"), ""},
		{"T:Count", cawire.DBRString, texts("5.0"), ""},
		{"T:Count", cawire.DBRString, texts("99999999999"), ""},
		{"T:Count", cawire.DBRString, texts("5.7"), noGuess},
		{"T:Count", cawire.DBRString, texts("1e2"), noGuess},
		{"T:Count", cawire.DBRDouble, numbers(5.7), noGuess},
		{"T:Count", cawire.DBRDouble, numbers(math.NaN()), noGuess},
		{"T:Count", cawire.DBRChar, cawire.Values{Chars: []byte{255}}, ""},
		{"T:Count", cawire.DBRShort, cawire.Values{Shorts: []int16{-1}}, ""},
		{"T:Big", cawire.DBRString, texts("9223372036854775807"), ""},
		{"T:Big", cawire.DBRString, texts("9223372036854775808"), ""},
		{"T:Big", cawire.DBRDouble, numbers(1 << 53), ""},
		{"T:Big", cawire.DBRDouble, numbers(1e300), noGuess},
		{"T:On", cawire.DBRString, texts("false"), ""},
		{"T:On", cawire.DBRString, texts("1"), ""},
		{"T:On", cawire.DBRString, texts("2"), ""},
		{"T:On", cawire.DBRString, texts("True"), clear},
		{"T:On", cawire.DBRLong, cawire.Values{Longs: []int32{2}}, noGuess},
		{"T:Mode", cawire.DBRString, texts("run"), ""},
		{"T:Mode", cawire.DBRString, texts("Run"), ""},
		{"T:Mode", cawire.DBRString, texts("3"), ""},
		{"T:Mode", cawire.DBRString, texts(" Run"), clear},
		{"T:Mode", cawire.DBREnum, cawire.Values{Enums: []uint16{3}}, noGuess},
		{"T:Text", cawire.DBRString, texts("a b\n"), ""},
		{"T:Text", cawire.DBRString, texts(""), ""},
		{"T:Text", cawire.DBRString, texts("\xff"), "it could not be shown"},
		{"T:Text", cawire.DBRLong, cawire.Values{Longs: []int32{-5}}, ""},
		{"T:Text", cawire.DBRDouble, numbers(5), "a number is written as everywhere else"},
		{"T:Text", cawire.DBRChar, characters("abc\x00"), "caput -S works on every text"},
		{"T:Text.VAL$", cawire.DBRChar, characters("abc\x00"), ""},
		{"T:Long.VAL$", cawire.DBRChar, characters("abc\x00def\x00"), ""},
		{"T:Long.VAL$", cawire.DBRString, texts("abc"), clear},
		{"T:Wave", cawire.DBRString, texts("1", "2.5"), ""},
		{"T:Wave", cawire.DBRDouble, numbers(), ""},
		{"T:Wave", cawire.DBRDouble, numbers(1, 2, 3, 4, 5, 6, 7), noGuess},
		{"T:Wave", cawire.DBRChar, characters("abc"), ""},
		{"T:Names", cawire.DBRLong, cawire.Values{Longs: []int32{-5, 6}}, ""},
		{"T:Names", cawire.DBRString, texts("a", "", "b"), ""},
		{"T:Noarrayuchar", cawire.DBRLong, cawire.Values{Longs: []int32{255, 0}}, ""},
		{"T:Noarrayuchar", cawire.DBRLong, cawire.Values{Longs: []int32{256}}, noGuess},
		{"T:Noarraychar", cawire.DBRLong, cawire.Values{Longs: []int32{-128, 127}}, ""},
		{"T:Noarrayulong", cawire.DBRDouble, numbers(4294967295), ""},
		{"T:Noarrayulong", cawire.DBRLong, cawire.Values{Longs: []int32{-1}}, noGuess},
	} {
		put := func(c *tester) string {
			t.Helper()
			ch := c.mustOpen(x.pv)
			count := len(x.values.Strings) + len(x.values.Shorts) + len(x.values.Floats) + len(x.values.Enums) + len(x.values.Chars) +
				len(x.values.Longs) + len(x.values.Doubles)
			status, err := c.write(ch.SID, x.typ, uint32(count), encode(x.typ, count, x.values))
			if err != nil {
				t.Fatal(err)
			}
			typ := cawire.DBRString
			if ch.Type == cawire.DBRChar && ch.Count > 8 {
				typ = cawire.DBRChar // characters of a text
			}
			_, v, _ := c.values(ch.SID, typ, 0)
			c.mustSend(&cawire.ClearRequest{SID: ch.SID, CID: ch.CID})
			return fmt.Sprintf("%v, then it is %q%q", status, v.Strings, v.Chars)
		}
		got, want := put(ours), put(theirs)
		if (got == want) != (x.deviation == "") {
			t.Errorf("%v %+v to %s: %s, with an IOC %s; expected deviation: %q", x.typ, x.values, x.pv, got, want, x.deviation)
		}
		if got != want { // for the next one both have the same again
			copyTo(ours, theirs, x.pv)
		}
	}
}

// copyTo puts the value of a channel to that of another server.
func copyTo(from, to *tester, pv string) {
	a, b := from.mustOpen(pv), to.mustOpen(pv)
	reply, err := from.read(a.SID, a.Type, 0)
	if err != nil {
		from.t.Fatal(err)
	}
	if status, err := to.write(b.SID, a.Type, reply.Count, reply.Payload); err != nil || status != cawire.ECANormal {
		to.t.Fatal(pv, status, err)
	}
}
