package proto

import (
	"fmt"
	"testing"

	"github.com/polygate/gateway"
)

func benchUpdate(n int) *gateway.Update {
	u := &gateway.Update{Owner: owner, Revision: 2}
	for i := range n {
		u.Samples = append(u.Samples, gateway.SampleUpdate{Index: uint32(i), Role: gateway.Readback, Sample: &gateway.Sample{
			Value: gateway.Of(float64(i) + 0.5), Time: gateway.TimeOf(noon), LastGood: gateway.TimeOf(noon), Seq: uint64(noon.UnixMicro()), Mask: gateway.MaskValue,
			Alarm: gateway.Alarm{Severity: gateway.Minor, Status: gateway.StatusHigh, Text: "high"},
		}})
	}
	return u
}

func BenchmarkEncodeUpdate(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprintf("samples=%d", n), func(b *testing.B) {
			u := benchUpdate(n)
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if buf, err = AppendUpdate(buf[:0], u); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(int64(len(buf)))
		})
	}
}

func BenchmarkDecodeUpdate(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprintf("samples=%d", n), func(b *testing.B) {
			buf, err := AppendUpdate(nil, benchUpdate(n))
			if err != nil {
				b.Fatal(err)
			}
			var d Decoder
			b.SetBytes(int64(len(buf)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := d.Update(buf); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkWaveform(b *testing.B) {
	u := benchUpdate(1)
	u.Samples[0].Sample.Value = gateway.ArrayOf(make([]float64, 1<<17))
	buf, err := AppendUpdate(nil, u)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("encode", func(b *testing.B) {
		b.SetBytes(1 << 20)
		for b.Loop() {
			if buf, err = AppendUpdate(buf[:0], u); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		var d Decoder
		b.SetBytes(1 << 20)
		for b.Loop() {
			if _, err := d.Update(buf); err != nil {
				b.Fatal(err)
			}
		}
	})
}
