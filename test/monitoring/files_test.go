//go:build unix

package monitoring_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/polygate/gateway/test/rig"
)

// devices are one that answers, one of whose replies is no number, and one whose
// line nobody answers on.
const devices = `
links:
  line1: {sim: temperature-controller}
  line2: {tcp: "127.0.0.1:1"}
devices:
  demo:
    driver: serial
    link: line1
    terminator: "\r\n"
    attributes:
      ramp_rate: {kind: float64, access: rw, read: "R?", reply: "%f", write: "R=%f", poll: 200ms}
      odd: {kind: float64, read: "ID?", reply: "%f", poll: 200ms}
  gone: {driver: serial, link: line2, terminator: "\r\n", attributes: {ramp_rate: {kind: float64, read: "R?", reply: "%f", poll: 200ms}}}
`

// watched starts a Prometheus that scrapes two gateways: one serves, and has a
// device that does not answer; the other waits for its NATS and for a lease.
func watched(t *testing.T) (p *prometheus, serving, waiting string) {
	t.Helper()
	rig.Needed(t, "POLYGATE_PROMETHEUS")
	serving, waiting = rig.FreePort(t), rig.FreePort(t)
	gateway := program.Start(t, "serving", "frontends: {rest: {listen: \"127.0.0.1:0\"}}\n"+"ops: {listen: \""+serving+"\"}\n"+devices)
	program.Start(t, "waiting", "frontends: {}\nops: {listen: \""+waiting+"\"}\nbus: {url: \"nats://127.0.0.1:1\", lease: demo}\n"+devices)
	// Puts are counted from the first one on.
	gateway.AwaitGood("demo.ramp_rate")
	if reply := gateway.Put("demo.ramp_rate", "2", ""); reply.Status != http.StatusOK {
		t.Fatalf("put: %+v", reply)
	}
	return startPrometheus(t, serving, waiting), serving, waiting
}

func TestAlertsAreRaisedForWhatIsWrong(t *testing.T) {
	p, serving, waiting := watched(t)
	type alert struct {
		State  string
		Labels map[string]string
	}
	raised := func() (names []string) {
		var data struct{ Alerts []alert }
		if err := p.ask("alerts", &data); err != nil {
			return []string{err.Error()}
		}
		for _, a := range data.Alerts {
			where := a.Labels["instance"] + a.Labels["lease"]
			where = strings.NewReplacer(serving, "serving", waiting, "waiting").Replace(where)
			names = append(names, strings.TrimSpace(a.Labels["alertname"]+" "+where+" "+a.Labels["device"]))
		}
		slices.Sort(names)
		return names
	}
	want := []string{"PolygateBusLost waiting", "PolygateDeviceLost serving gone", "PolygateLeaseNotHeld demo"}
	p.await(func() string {
		if got := raised(); !slices.Equal(got, want) {
			return fmt.Sprintf("got %q, want %q", got, want)
		}
		return ""
	})
	var rules struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	if err := p.ask("rules", &rules); err != nil || len(rules.Groups) != 1 {
		t.Fatalf("got %+v (%v)", rules, err)
	}
	for _, rule := range rules.Groups[0].Rules {
		if rule.Health != "ok" {
			t.Errorf("%s: %s %s", rule.Name, rule.Health, rule.LastError)
		}
	}
}

func TestEveryPanelOfTheDashboardHasData(t *testing.T) {
	p, _, _ := watched(t)
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, "../../helm/polygate/files/dashboard.json")), &dashboard); err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			asked++
			// What Grafana puts in place of its variables.
			expression := strings.NewReplacer("$__rate_interval", "1m", "$instance", ".*").Replace(target.Expr)
			p.await(func() string {
				if n, err := p.series(expression); n == 0 {
					return fmt.Sprintf("%s: %s has no data (%v)", panel.Title, expression, err)
				}
				return ""
			})
		}
	}
	if asked < 10 {
		t.Errorf("the dashboard asks %d times", asked)
	}
	var names []string
	if err := p.ask("label/instance/values?match[]=polygate_info", &names); err != nil || len(names) != 2 {
		t.Errorf("the variable instance has %q (%v)", names, err)
	}
}
