package stream

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// print writes a time as strftime does in the C locale. It is rounded to the
// fractional digits of the format, seconds included; without any the fraction
// is cut off.
func (c *timeConv) print(dst []byte, v Value) ([]byte, error) {
	f, ok := v.Float64()
	// The years 0000 to 9999, with a day to spare for the zone.
	if !ok || !(f > -62167132800 && f < 253402214400) {
		return dst, fmt.Errorf("%s is no time in seconds since 1970 for %%T", v)
	}
	sec, scale := math.Floor(f), math.Pow10(c.digits)
	frac := 0.0
	if c.digits > 0 {
		if frac = math.Round((f - sec) * scale); frac >= scale {
			frac = 0
			sec++
		}
	}
	nanos := int64(frac) * int64(math.Pow10(9-c.digits))
	zone := c.zone
	for _, s := range c.steps {
		if s.verb == '+' {
			zone = time.FixedZone("", s.n)
		}
	}
	t := time.Unix(int64(sec), 0).In(zone)
	for _, s := range c.steps {
		switch s.verb {
		case 0:
			dst = append(dst, s.literal...)
		case 'f':
			dst = fmt.Appendf(dst, "%0*d", s.n, nanos/int64(math.Pow10(9-s.n)))
		case '+':
		default:
			dst = printTime(dst, t, s.verb)
		}
	}
	return dst, nil
}

// printTime writes one conversion.
func printTime(dst []byte, t time.Time, verb byte) []byte {
	hour12 := (t.Hour()+11)%12 + 1
	isoYear, isoWeek := t.ISOWeek()
	weekday := int(t.Weekday()) // 0 is Sunday
	switch verb {
	case 'a':
		return append(dst, t.Weekday().String()[:3]...)
	case 'A':
		return append(dst, t.Weekday().String()...)
	case 'b', 'h':
		return append(dst, t.Month().String()[:3]...)
	case 'B':
		return append(dst, t.Month().String()...)
	case 'C':
		return appendPadded(dst, t.Year()/100, 2, '0')
	case 'd':
		return appendPadded(dst, t.Day(), 2, '0')
	case 'e':
		return appendPadded(dst, t.Day(), 2, ' ')
	case 'g':
		return appendPadded(dst, isoYear%100, 2, '0')
	case 'G':
		return appendPadded(dst, isoYear, 4, '0')
	case 'H':
		return appendPadded(dst, t.Hour(), 2, '0')
	case 'I':
		return appendPadded(dst, hour12, 2, '0')
	case 'j':
		return appendPadded(dst, t.YearDay(), 3, '0')
	case 'k':
		return appendPadded(dst, t.Hour(), 2, ' ')
	case 'l':
		return appendPadded(dst, hour12, 2, ' ')
	case 'm':
		return appendPadded(dst, int(t.Month()), 2, '0')
	case 'M':
		return appendPadded(dst, t.Minute(), 2, '0')
	case 'p':
		return t.AppendFormat(dst, "PM")
	case 'P':
		return t.AppendFormat(dst, "pm")
	case 's':
		return strconv.AppendInt(dst, t.Unix(), 10)
	case 'S':
		return appendPadded(dst, t.Second(), 2, '0')
	case 'u':
		return appendPadded(dst, (weekday+6)%7+1, 1, '0')
	case 'U': // Weeks that start on Sunday.
		return appendPadded(dst, (t.YearDay()+6-weekday)/7, 2, '0')
	case 'V':
		return appendPadded(dst, isoWeek, 2, '0')
	case 'w':
		return appendPadded(dst, weekday, 1, '0')
	case 'W': // Weeks that start on Monday.
		return appendPadded(dst, (t.YearDay()+6-(weekday+6)%7)/7, 2, '0')
	case 'y':
		return appendPadded(dst, t.Year()%100, 2, '0')
	case 'Y':
		return appendPadded(dst, t.Year(), 4, '0')
	case 'z':
		return t.AppendFormat(dst, "-0700")
	case 'Z':
		return t.AppendFormat(dst, "MST")
	}
	return dst
}

// appendPadded writes a number that is not negative in a width.
func appendPadded(dst []byte, n, width int, fill byte) []byte {
	var buf [20]byte
	digits := strconv.AppendInt(buf[:0], int64(n), 10)
	return append(appendN(dst, fill, width-len(digits)), digits...)
}
