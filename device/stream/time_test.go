package stream

import (
	"testing"
	"time"
)

// winter is the zone of StreamDevice's testTimestamp, fixed so that no database of zones is needed.
func winter() *time.Location { return time.FixedZone("CET", 3600) }

func TestTimeOutput(t *testing.T) {
	runAppend(t, Options{Location: winter()}, []appendCase{
		{"%T(%d.%m.%Y %H:%M:%.2S %z)", floats(1044068706.789), "01.02.2003 04:05:06.79 +0100", false},
		{"%T", floats(1044068706), "2003-02-01 04:05:06", false},
		{"%T", floats(1044068706.999), "2003-02-01 04:05:06", false},
		{"%T(%H:%M:%.2S)", floats(1044068706.999), "04:05:07.00", false},
		{"%T(%3f|%03f|%f|%N)", floats(1.5), "500|500|500000|500000000", false},
		{"%T(%3f|%f)", floats(0.0129), "012|012900", false},
		{"%T(%a %A %b %B %h %e|%k|%l|%I %p %P)", floats(1044068706), "Sat Saturday Feb February Feb  1| 4| 4|04 AM am", false},
		{"%T(%C %y %G %g %V %U %W %j %u %w)", floats(1044068706), "20 03 2003 03 05 04 04 032 6 6", false},
		{"%T(%c|%D|%F|%R|%r|%T|%X|%x)", floats(1044068706), "Sat Feb  1 04:05:06 2003|02/01/03|2003-02-01|04:05|04:05:06 AM|04:05:06|04:05:06|02/01/03", false},
		{`%T(%n%t%%%s\)\x41%Z)`, floats(60), "\n\t%60)ACET", false},
		{"%T(%I%p %l%P)", floats(11*3600 + 1800), "12PM 12pm", false},
		{"%T(%+0000%H:%M)", floats(0), "00:00", false},
		{"%T(%-0230%H:%M)", floats(0), "21:30", false},
		{"%T(%U %W)", floats(1672531200), "01 00", false}, // a Sunday, 1 January 2023
		{"%T", floats(-0.5), "1970-01-01 00:59:59", false},
		{"%T", floats(1e18), "", true},
		{"%T", texts("now"), "", true},
	})
	runAppend(t, Options{}, []appendCase{{"%T", ints(0), "1970-01-01 00:00:00", false}})
}

func TestTimeInput(t *testing.T) {
	now := func() time.Time { return time.Date(2024, 2, 29, 23, 30, 0, 0, time.UTC) }
	midnight := float64(time.Date(2024, 3, 1, 0, 0, 0, 0, winter()).Unix()) // of today, in that zone
	hour := func(h float64) []Value { return floats(midnight + 3600*h) }
	runMatch(t, Options{Location: winter(), Now: now}, []matchCase{
		{"%T", "2003-02-01 04:05:06", floats(1044068706), 0},
		{"%T(%Ed. %B %Y %H:%M:%.S) %f", "1. February 2003 04:05:06.789 3.1415", floats(1044068706.789, 3.1415), 0},
		{"%T(%Ed. %B %Y %H:%M:%.S) %f", "1. feb 2003 04:05:06.789123 3.1415", floats(1044068706.789123, 3.1415), 0},
		{"%T(%c) %f", "mon feb 1 04:05:06 2003 3.1415", floats(1044068706, 3.1415), 0},
		{"%T(%d.%m.%Y %T %z)", "1.2.2010 12:56:32 +0000", floats(1265028992), 0},
		{"%T(%d.%m.%Y %T %z)", "1.7.2010 12:56:32 +0000", floats(1277988992), 0},
		{"%T(%d.%m.%Y %T %z)", "1.7.2010 13:56:32 +0100", floats(1277988992), 0},
		{"%T(%-0200%d.%m.%Y %T)", "1.7.2010 10:56:32", floats(1277988992), 0},
		// October, November and December are themselves; a fraction starts
		// behind the point.
		{"%T(%d %b %Y %z)", "15 Oct 2020 +0000", floats(1602720000), 0},
		{"%T(%d %b %Y %z)", "15 november 2020 +0000", floats(1605398400), 0},
		{"%T(%d %b %Y %z)", "15 12 2020 +0000", floats(1607990400), 0},
		{"%T(%s.%3f)", "10.050", floats(10.05), 0},
		{"%T(%s%N)", "10000000000", nil, Short},
		{"%T(%s.%N)", "10.000", floats(10), 0},
		{"%T(%s)", "-5", floats(-5), 0},
		{"%T(%s.%f)", "-5.25", floats(-5.25), 0},
		{"%T(%s)", "999999999999", floats(999999999999), 0},
		{"%T(%s)", "x", nil, NoMatch},
		{"%T(%Y%m%d%H%M%S%z)", "20100701125632+0000", floats(1277988992), 0},
		{"%T(%y%m%d %z)", "691231 +0000", floats(-86400), 0},
		{"%T(%C%y-%j %z)", "1970-002 +0000", floats(86400), 0},
		{"%T(%y%j %z)", "70366 +0000", floats(365 * 86400), 0},
		// Half days, in any order and with the first letter.
		{"%T(%H %p)", "12 a", hour(0), 0},
		{"%T(%H %p)", "01 a", hour(1), 0},
		{"%T(%H %p)", "2 a", hour(2), 0},
		{"%T(%H %p)", "12 p", hour(12), 0},
		{"%T(%H %p)", "01 p", hour(13), 0},
		{"%T(%H %p)", "11 p", hour(23), 0},
		{"%T(%p %H)", "am 12", hour(0), 0},
		{"%T(%p %H)", "Am 01", hour(1), 0},
		{"%T(%p %H)", "PM 11", hour(23), 0},
		{"%T(%p %H)", "p 12", hour(12), 0},
		{"%T(%H %p)", "13 a", nil, OutOfRange},
		{"%T(%H:%M)", "07:30", hour(7.5), 0},
		{"%T(%u%w%U%W%V%a%Z%n%%%t %H)", "7052 53 1sunCET\n%\t  7", hour(7), 0},
		{"%T", "2003-02-29 00:00:00", nil, OutOfRange},
		{"%T", "2003-13-01 00:00:00", nil, NoMatch},
		{"%T", "2003-02-01 24:00:00", nil, NoMatch},
		{"%T", "2003-02-01", nil, Short},
		{"%T(%b)", "Ja", nil, NoMatch},
		{"%T(%z)", "+2500", nil, NoMatch},
		{"%T(%z)", "+01:00", nil, NoMatch},
		{"%?T", "", floats(0), 0},
	})
}
