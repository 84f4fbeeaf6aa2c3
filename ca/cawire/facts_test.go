package cawire

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// TestStatusesAreThoseOfLibca compares every status with what libca says of it.
func TestStatusesAreThoseOfLibca(t *testing.T) {
	file, err := os.ReadFile("testdata/eca.tsv")
	if err != nil {
		t.Fatal(err)
	}
	severities := map[StatusSeverity]string{
		StatusWarning: "CA_K_WARNING", StatusSuccess: "CA_K_SUCCESS", StatusError: "CA_K_ERROR",
		StatusInfo: "CA_K_INFO", StatusSevere: "CA_K_SEVERE", StatusFatal: "CA_K_FATAL",
	}
	lines := strings.Split(strings.TrimSpace(string(file)), "\n")
	if len(lines) != len(statusTexts) {
		t.Errorf("%d statuses, want %d", len(statusTexts), len(lines))
	}
	for _, line := range lines {
		var code Status
		if _, err := fmt.Sscan(line, &code); err != nil {
			t.Fatal(err)
		}
		f := strings.Split(line, "\t")
		if code.String() != f[1] || severities[code.Severity()] != f[2] || code.Text() != f[4] {
			t.Errorf("%d: %v, %v, %q; want %s", code, code, code.Severity(), code.Text(), line)
		}
		if code.OK() != (f[2] == "CA_K_SUCCESS" || f[2] == "CA_K_INFO") {
			t.Errorf("%v: OK is %v", code, code.OK())
		}
	}
	if s := Status(5000); s.String() != "ECA_5000" || s.Text() != "unknown status 5000" {
		t.Errorf("%v, %q", s, s.Text())
	}
	for status, want := range map[Status]string{
		ECANormal: "ECA_NORMAL", ECATooLarge: "ECA_TOLARGE", ECABadMonID: "ECA_BADMONID",
		ECA16KArrayClient: "ECA_16KARRAYCLIENT", ECANoWtAccess: "ECA_NOWTACCESS", ECADefunct: "ECA_DEFUNCT",
	} {
		if status.String() != want {
			t.Errorf("%d is %v, want %s", status, status, want)
		}
	}
}

func TestNamesOfAlarmsMasksAndRights(t *testing.T) {
	for got, want := range map[fmt.Stringer]string{
		StatusNoAlarm: "NO_ALARM", StatusHWLimit: "HWLIMIT", StatusWriteAccess: "WRITE_ACCESS", AlarmStatus(22): "22",
		NoAlarm: "NO_ALARM", InvalidAlarm: "INVALID", Severity(4): "4",
		Mask(0): "none", DBEValue | DBEAlarm: "value,alarm", Mask(15): "value,log,alarm,property",
		Rights(0): "none", MayRead | MayWrite: "read,write",
		Command(99): "COMMAND_99", Minor(13): "4.13", KindNone: "no message", Kind(200): "no message",
		Client: "client", Side(0): "nobody", OnCircuit: "circuit", OnDatagram: "datagram",
		ChannelState(9): "state 9",
	} {
		if got.String() != want {
			t.Errorf("%T: %q, want %q", got, got, want)
		}
	}
}

func TestCA52TimeStamps(t *testing.T) {
	for _, c := range []struct {
		in   time.Time
		want TimeStamp
	}{
		{time.Time{}, TimeStamp{}},
		{time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC), TimeStamp{}},
		{time.Date(1980, 1, 1, 0, 0, 0, 5, time.UTC), TimeStamp{}},
		{time.Date(1989, 12, 31, 23, 59, 59, 999999999, time.UTC), TimeStamp{}},
		{time.Date(1990, 1, 1, 0, 0, 0, 1, time.UTC), TimeStamp{0, 1}},
		{time.Unix(1796057046, 1500000000), TimeStamp{1164905047, 500000000}},
		{time.Date(2126, 2, 7, 6, 28, 15, 7, time.UTC), TimeStamp{4294967295, 7}},
		{time.Date(2126, 2, 7, 6, 28, 16, 0, time.UTC), TimeStamp{4294967295, 999999999}},
		{time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), TimeStamp{4294967295, 999999999}},
	} {
		if got := TimeStampOf(c.in); got != c.want {
			t.Errorf("%v: %v, want %v", c.in, got, c.want)
		}
	}
	// A peer's nanoseconds may be a second and more; ours never are.
	odd := TimeStamp{10, 1500000000}
	if got := odd.Normal(); got != (TimeStamp{11, 500000000}) {
		t.Errorf("%v", got)
	}
	if got := (TimeStamp{4294967295, 4000000000}).Normal(); got != (TimeStamp{4294967295, 999999999}) {
		t.Errorf("%v", got)
	}
	if got, want := odd.Time(), time.Date(1990, 1, 1, 0, 0, 11, 5e8, time.UTC); !got.Equal(want) {
		t.Errorf("%v, want %v", got, want)
	}
	b, err := AppendDBR(nil, DBRTimeLong, 0, &Meta{Time: odd}, &Values{})
	var m Meta
	if err != nil || DecodeDBR(DBRTimeLong, 0, b, &m, nil) != nil || m.Time != (TimeStamp{11, 500000000}) {
		t.Errorf("%v, %v", m.Time, err)
	}
	if !(TimeStamp{}).IsZero() || odd.IsZero() {
		t.Error("IsZero")
	}
}

// Both announcements of our revision say the same, and newer features hang on it.
func TestCA16OneRevisionEverywhere(t *testing.T) {
	circuit := encode(t, &Version{Minor: MinorCurrent})
	datagram := encode(t, &SearchReply{HasMinor: true, Minor: MinorCurrent})
	if circuit[7] != 13 || datagram[17] != 13 {
		t.Errorf("%x and %x", circuit, datagram)
	}
	for minor, want := range map[Minor][4]bool{
		8: {}, 9: {true}, 10: {true}, 11: {true, true}, 12: {true, true, true}, 13: {true, true, true, true},
	} {
		got := [4]bool{minor.LongHeaders(), minor.SearchSequence(), minor.CircuitSearch(), minor.ZeroCount()}
		if got != want {
			t.Errorf("%v: %v", minor, got)
		}
	}
}

// A search over TCP is answered without payload, with "my own address".
func TestCA24SearchReplyOnCircuit(t *testing.T) {
	b := encode(t, &SearchReply{Port: 5064, CID: 7})
	want := []byte{0, 6, 0, 0, 0x13, 0xC8, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 7}
	if string(b) != string(want) {
		t.Errorf("%x, want %x", b, want)
	}
}

// The number of a beacon wraps like any uint32.
func TestCA27BeaconNumberWraps(t *testing.T) {
	m := Beacon{Minor: 13, Port: 5064, ID: 0xFFFFFFFF}
	m.ID++
	f, _, err := NextDatagram(encode(t, &m))
	var got Beacon
	if err != nil || got.Decode(f) != nil || got.ID != 0 || got.Address.IsValid() {
		t.Errorf("%+v, %v", got, err)
	}
}
