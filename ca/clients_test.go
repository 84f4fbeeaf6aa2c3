package ca

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/hub/hubtest"
)

// TestCountersReachPythonClients: 1,000 counters at 10 Hz, none missing. For
// caproto's client, which is written in Python throughout, 10,000 samples a second
// are more than a busy core can take, so it gets a quarter of the counters, but
// for the full length, for which a machine should be quiet.
func TestCountersReachPythonClients(t *testing.T) {
	const counters = 1000
	samples, followed := 40, map[string]int{"caproto": counters / 4}
	if *full {
		samples, followed = 1000, nil
	}
	repeater(t)
	interpreter := python(t)
	var list []*gateway.Descriptor
	for i := range counters {
		list = append(list, float(fmt.Sprintf("c%d", i), r))
	}
	for _, client := range []string{"pyepics", "aioca", "cothread", "caproto", "pvapy"} {
		t.Run(client, func(t *testing.T) {
			// Beacons keep a client of caproto, which is busy for long with what it
			// has received at once, from taking the server for dead.
			w := newWorldWith(t, Config{Beacons: []string{"127.0.0.1"}}, list...)
			step := func(n int) {
				changes := make([]hubtest.Change, counters)
				for i := range changes {
					changes[i] = hubtest.Change{
						Path: list[i].Path, Role: gateway.Readback, Value: gateway.Of(float64(n)),
						Alarm: gateway.Alarm{Severity: gateway.Minor, Status: gateway.StatusHigh},
					}
				}
				w.device.Update(changes...)
			}
			step(0)
			ctx, cancel := context.WithCancel(t.Context())
			counting := make(chan struct{})
			go func() {
				defer close(counting)
				tick := time.NewTicker(100 * time.Millisecond)
				defer tick.Stop()
				for n := 1; ; n++ {
					select {
					case <-tick.C:
						step(n)
					case <-ctx.Done():
						return
					}
				}
			}()
			defer func() { cancel(); <-counting }()
			env := searchEnv(w)
			n := counters
			if fewer, ok := followed[client]; ok {
				n = fewer
			}
			began := time.Now()
			out, err := outputWithin(10*time.Minute, env, interpreter, "testdata/counters.py", client, fmt.Sprint(n), fmt.Sprint(samples))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(out, "No module named") {
				lack(t, out)
			}
			t.Logf("%d samples of %d counters in %v", samples, n, time.Since(began).Round(time.Millisecond))
			if !strings.HasSuffix(strings.TrimSpace(out), "good") {
				t.Errorf("%s says\n%s", client, out)
			}
		})
	}
}

// TestMonitorsPrintWhatAnIOCPrints compares camonitor while values change.
func TestMonitorsPrintWhatAnIOCPrints(t *testing.T) {
	repeater(t)
	pair := startTwins(t, twins())
	camonitor, caput := epicsTool(t, "camonitor"), epicsTool(t, "caput")
	names := []string{"T:Ao", "T:Count", "T:On", "T:Mode", "T:Text", "T:Wave", "T:Never"}
	puts := [][]string{
		{"T:Ao", "31.5"},
		{"T:Count", "12"},
		{"T:On", "false"},
		{"T:Mode", "Idle"},
		{"T:Mode", "Run"},
		{"T:Text", "other words"},
		{"-a", "T:Wave", "2", "7", "8"},
		{"T:Ao", "32"},
	}
	follow := func(env []string, mask string) string {
		// Unbuffered, and each PV in a program of its own, since the order among
		// PVs is nobody's promise.
		var all []string
		for _, name := range names {
			out := start(t, env, camonitor, "-m", mask, name)
			first := out.until(t, func(s string) bool { return strings.Contains(s, "\n") })
			all = append(all, first)
			expect := strings.Count(first, "\n")
			for _, put := range puts {
				if put[0] != name && put[min(1, len(put)-1)] != name {
					continue
				}
				expect++
				run(t, env, caput, append([]string{"-c"}, put...)...)
				out.until(t, func(s string) bool { return strings.Count(s, "\n") >= expect })
			}
			all = append(all, out.String())
		}
		return comparable(strings.Join(all, ""))
	}
	if got, want := follow(pair.ours, "va"), follow(pair.theirs, "va"); got != want {
		t.Errorf("camonitor prints\n%s\nand with an IOC\n%s", got, want)
	}
}
