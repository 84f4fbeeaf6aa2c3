package stream

import (
	"strings"
	"time"
)

// clock collects what a time text says.
type clock struct {
	year, month, day, yearDay int // month, yearDay: 0 is not given
	century, yearOfCentury    int // -1 is not given
	hour, minute, second      int
	pm                        int // -1 is not given, else 0 or 1
	nanos                     int
	unix                      int64 // without its sign
	hasUnix, before           bool  // before: before 1970
	zone                      *time.Location
}

// scan reads a time. What the format does not contain is taken from today for
// the date and 0 for the time of day.
func (c *timeConv) scan(in []byte) (Value, int, int, problem) {
	k := clock{year: -1, century: -1, yearOfCentury: -1, pm: -1, zone: c.zone}
	pos := 0
	for i := range c.steps {
		s := &c.steps[i]
		n, ok := s.scan(in[pos:], &k)
		if !ok {
			return Value{}, 0, 0, problem{reason: NoMatch, at: pos, want: s.want()}
		}
		pos += n
	}
	v, ok := k.seconds(c.now)
	if !ok {
		return Value{}, 0, 0, problem{reason: OutOfRange, want: "a date and time that exist, for %T"}
	}
	return Float(v), 0, pos, problem{}
}

// want names a step for messages.
func (s *timeStep) want() string {
	switch s.verb {
	case 0:
		return quote(s.literal) + " in the time"
	case 'f':
		return "fractional digits of the time (%f)"
	}
	return "%" + string(s.verb) + " of the time"
}

// scan reads one step and returns how many bytes it took.
func (s *timeStep) scan(in []byte, k *clock) (int, bool) {
	switch s.verb {
	case 0:
		return scanTimeText(in, s.literal)
	case '+':
		k.zone = time.FixedZone("", s.n)
		return 0, true
	case 'f':
		return s.scanFraction(in, k)
	case 'a', 'A', 'Z': // Names of days and zones are not needed.
		n := 0
		for n < len(in) && isAlpha(in[n]) {
			n++
		}
		return n, true
	case 'b', 'B', 'h', 'm':
		if n, month := scanName(in, monthNames(), 3); n > 0 {
			k.month = month + 1
			return n, true
		}
	case 'p', 'P':
		n, pm := scanName(in, []string{"am", "pm"}, 1)
		k.pm = pm
		return n, n > 0
	case 'z':
		east, n, ok := zoneOffset(in)
		k.zone = time.FixedZone("", east)
		return n, ok
	case 's':
		return scanUnix(in, k)
	}
	return s.scanNumber(in, k)
}

// scanUnix reads seconds since 1970, with or without a sign.
func scanUnix(in []byte, k *clock) (int, bool) {
	i := skipSpace(in)
	k.before = i < len(in) && in[i] == '-'
	if k.before {
		i++
	}
	start := i
	for ; i < len(in) && i < start+12 && isDigit(in[i]); i++ {
		k.unix = k.unix*10 + int64(in[i]-'0')
	}
	k.hasUnix = true
	return i, i > start
}

// scanNumber reads the steps that are numbers.
func (s *timeStep) scanNumber(in []byte, k *clock) (int, bool) {
	digits, low, high := timeField(s.verb)
	i := skipSpace(in)
	start := i
	n := 0
	for ; i < len(in) && i < start+digits && isDigit(in[i]); i++ {
		n = n*10 + int(in[i]-'0')
	}
	if i == start || n < low || n > high {
		return 0, false
	}
	switch s.verb {
	case 'b', 'B', 'h', 'm':
		k.month = n
	case 'C':
		k.century = n
	case 'd', 'e':
		k.day = n
	case 'H', 'k', 'I', 'l':
		k.hour = n
	case 'j':
		k.yearDay = n
	case 'M':
		k.minute = n
	case 'S':
		k.second = n
	case 'y':
		k.yearOfCentury = n
	case 'Y':
		k.year = n
	default: // Days of the week and weeks of the year are not needed.
	}
	return i, true
}

// timeField returns how many digits a number of a time text has at most, and
// its range; no digits for conversions that are no numbers.
func timeField(verb byte) (digits, low, high int) {
	switch verb {
	case 'b', 'B', 'h', 'm':
		return 2, 1, 12
	case 'd', 'e':
		return 2, 1, 31
	case 'j':
		return 3, 1, 366
	case 'Y', 'G':
		return 4, 0, 9999
	case 'y', 'C', 'g':
		return 2, 0, 99
	case 'H', 'k', 'I', 'l':
		return 2, 0, 23
	case 'M':
		return 2, 0, 59
	case 'S': // With leap seconds.
		return 2, 0, 60
	case 'u', 'w':
		return 1, 0, 7
	case 'U', 'V', 'W':
		return 2, 0, 53
	}
	return 0, 0, 0
}

// monthNames returns the months in lower case.
func monthNames() []string {
	names := make([]string, 12)
	for i := range names {
		names[i] = strings.ToLower(time.Month(i + 1).String())
	}
	return names
}

// scanName reads a name in any case, or its first letters, at least least.
func scanName(in []byte, names []string, least int) (n, which int) {
	for i, name := range names {
		n := 0
		for n < len(in) && n < len(name) && isAlpha(in[n]) && in[n]|0x20 == name[n] {
			n++
		}
		if n >= least {
			return n, i
		}
	}
	return 0, -1
}

// scanTimeText compares literal text; a blank is any amount of white space.
func scanTimeText(in []byte, text string) (int, bool) {
	pos := 0
	for i := range len(text) {
		if text[i] == ' ' {
			pos += skipSpace(in[pos:])
			continue
		}
		if pos >= len(in) || in[pos] != text[i] {
			return 0, false
		}
		pos++
	}
	return pos, true
}

// scanFraction reads up to n digits behind the point.
func (s *timeStep) scanFraction(in []byte, k *clock) (int, bool) {
	n, nanos := 0, 0
	for n < len(in) && n < s.n && isDigit(in[n]) {
		nanos = nanos*10 + int(in[n]-'0')
		n++
	}
	for range 9 - n {
		nanos *= 10
	}
	k.nanos = nanos
	return n, n > 0
}

// seconds returns the time since 1970, or false if there is no such time.
func (k *clock) seconds(now func() time.Time) (float64, bool) {
	fraction := float64(k.nanos) * 1e-9
	if k.hasUnix {
		v := float64(k.unix) + fraction
		if k.before {
			v = -v
		}
		return v, true
	}
	hour := k.hour
	switch {
	case k.pm == 0 && hour > 12:
		return 0, false
	case k.pm == 0 && hour == 12:
		hour = 0
	case k.pm == 1 && hour < 12:
		hour += 12
	}
	year, month, day := k.date(now)
	if first := time.Date(year, month, 1, 0, 0, 0, 0, time.UTC); first.AddDate(0, 0, day-1).Month() != month {
		return 0, false
	}
	t := time.Date(year, month, day, hour, k.minute, k.second, 0, k.zone)
	return float64(t.Unix()) + fraction, true
}

// date fills in what the text did not say.
func (k *clock) date(now func() time.Time) (int, time.Month, int) {
	var year, day int
	var month time.Month
	if k.year < 0 && k.yearOfCentury < 0 && k.century < 0 || k.month == 0 || k.day == 0 {
		today := now().In(k.zone)
		year, month, day = today.Date()
	}
	switch {
	case k.year >= 0:
		year = k.year
	case k.century >= 0:
		year = k.century*100 + max(k.yearOfCentury, 0)
	case k.yearOfCentury >= 69: // POSIX: 69 to 99 are 1969 to 1999.
		year = 1900 + k.yearOfCentury
	case k.yearOfCentury >= 0:
		year = 2000 + k.yearOfCentury
	}
	if k.yearDay > 0 && k.month == 0 && k.day == 0 {
		t := time.Date(year, 1, k.yearDay, 0, 0, 0, 0, time.UTC)
		return t.Year(), t.Month(), t.Day()
	}
	if k.month > 0 {
		month = time.Month(k.month)
	}
	if k.day > 0 {
		day = k.day
	}
	return year, month, day
}
