package stream

import (
	"math"
	"sync"
	"testing"
)

func TestValueConversions(t *testing.T) {
	for _, c := range []struct {
		v      Value
		i      int64
		iOK    bool
		u      uint64
		uOK    bool
		f      float64
		fOK    bool
		string string
	}{
		{Int(-3), -3, true, 0, false, -3, true, "-3"},
		{IntN(-3, 16), -3, true, 0, false, -3, true, "-3"},
		{Int(3), 3, true, 3, true, 3, true, "3"},
		{Uint(math.MaxUint64), 0, false, math.MaxUint64, true, 1 << 64, true, "18446744073709551615"},
		{Enum(7), 7, true, 7, true, 7, true, "7"},
		{Float(2.5), 0, false, 0, false, 2.5, true, "2.5"},
		{Float(-2), -2, true, 0, false, -2, true, "-2"},
		{Float(1 << 63), 0, false, 1 << 63, true, 1 << 63, true, "9.223372036854775808e+18"},
		{Float(1 << 64), 0, false, 0, false, 1 << 64, true, "1.8446744073709552e+19"},
		{Float(math.Inf(1)), 0, false, 0, false, math.Inf(1), true, "+Inf"},
		{Text("a\xff"), 0, false, 0, false, 0, false, `"a\xff"`},
		{Value{}, 0, false, 0, false, 0, false, "no value"},
	} {
		if i, ok := c.v.Int64(); ok != c.iOK || ok && i != c.i {
			t.Errorf("%v: Int64 %d %v", c.v, i, ok)
		}
		if u, ok := c.v.Uint64(); ok != c.uOK || ok && u != c.u {
			t.Errorf("%v: Uint64 %d %v", c.v, u, ok)
		}
		if f, ok := c.v.Float64(); ok != c.fOK || ok && f != c.f {
			t.Errorf("%v: Float64 %g %v", c.v, f, ok)
		}
		if s := c.v.String(); s != c.string && c.v.kind != KindFloat {
			t.Errorf("%v: String %q, want %q", c.v.kind, s, c.string)
		}
	}
	if _, ok := Float(math.NaN()).Int64(); ok {
		t.Error("NaN is an integer")
	}
}

// Values do not refer to the input, and a Format is shared by goroutines.
func TestFormatsAreSharedAndKeepNothing(t *testing.T) {
	f := mustParse(t, "%#/a/b/%[^,],%f;%{on|off}%0<sum>", Options{})
	message := []byte("a7,2.5;off")
	message = append(message, []byte("CF")...)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			in := append([]byte(nil), message...)
			for range 100 {
				got, err := f.Match(in)
				if err != nil {
					t.Error(err)
					return
				}
				for i := range in {
					in[i] = 0
				}
				if got[0] != Text("b7") || got[1] != Float(2.5) || got[2] != Enum(1) {
					t.Errorf("got %v", got)
				}
				copy(in, message)
			}
		})
	}
	wg.Wait()
}
