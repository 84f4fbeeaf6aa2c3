package ca

import (
	"math"
	"strconv"
	"strings"
)

// formatDouble writes a number as base's cvtDoubleToString does: with so many
// digits behind the point, but at most three above 1e7, and with an exponent for
// more than eight digits or numbers above 1e16.
func formatDouble(f float64, precision int) string {
	switch {
	case !math.IsNaN(f) && precision <= 8 && f <= 1e7 && f >= -1e7:
		return formatSmall(f, precision)
	case precision > 8 || f > 1e16 || f < -1e16:
		precision = min(precision, 17)
		return formatExponent(f, precision+7, precision)
	default:
		return formatFixed(f, min(precision, 3))
	}
}

// formatFloat is the same for single precision, with cvtFloatToString's bounds.
func formatFloat(f float32, precision int) string {
	wide := float64(f)
	switch {
	case !math.IsNaN(wide) && precision <= 8 && wide <= 1e7 && wide >= -1e7:
		return formatSmallFloat(f, precision)
	case precision > 8 || wide >= 1e8 || wide <= -1e8:
		precision = min(precision, 12)
		return formatExponent(wide, precision+6, precision)
	default:
		return formatFixed(wide, min(precision, 3))
	}
}

var powers = [...]int32{1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000}

// formatSmall rounds as base does: the fraction, cut one digit further, and half
// of that digit added. The last digits differ from a correct rounding.
func formatSmall(f float64, precision int) string {
	negative := f < 0
	if negative {
		f = -f
	}
	whole := int32(f)
	scale := powers[precision]
	fraction := (int32((f-float64(whole))*float64(scale)*10) + 5) / 10
	return joinNumber(negative, whole, fraction, scale, precision)
}

func formatSmallFloat(f float32, precision int) string {
	negative := f < 0
	if negative {
		f = -f
	}
	whole := int32(f)
	scale := powers[precision]
	fraction := (int32((f-float32(whole))*float32(scale)*10) + 5) / 10
	return joinNumber(negative, whole, fraction, scale, precision)
}

func joinNumber(negative bool, whole, fraction, scale int32, precision int) string {
	if fraction/scale >= 1 {
		whole++
		fraction -= scale
	}
	out := make([]byte, 0, 24)
	if negative {
		out = append(out, '-')
	}
	out = strconv.AppendInt(out, int64(whole), 10)
	if precision > 0 {
		out = append(out, '.')
		for place := scale / 10; place > 0; place /= 10 {
			out = append(out, byte('0'+fraction/place))
			fraction %= place
		}
	}
	return string(out)
}

// formatExponent is C's %*.*e.
func formatExponent(f float64, width, precision int) string {
	text := cSpecial(f)
	if text == "" {
		text = strconv.FormatFloat(f, 'e', precision, 64)
	}
	if pad := width - len(text); pad > 0 {
		text = strings.Repeat(" ", pad) + text
	}
	return text
}

// formatFixed is C's %.*f.
func formatFixed(f float64, precision int) string {
	if text := cSpecial(f); text != "" {
		return text
	}
	return strconv.FormatFloat(f, 'f', precision, 64)
}

// cSpecial is how C writes what is no number; empty for numbers.
func cSpecial(f float64) string {
	switch {
	case math.IsNaN(f) && math.Signbit(f):
		return "-nan"
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	return ""
}
