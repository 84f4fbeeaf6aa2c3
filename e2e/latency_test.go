package e2e

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/testcontainers/testcontainers-go"

	"github.com/polygate/gateway/e2e/client"
	"github.com/polygate/gateway/e2e/latency"
)

var (
	outDir  = flag.String("out", "", "folder for the table, the plot and the data of the latencies; the test's own if empty")
	samples = flag.Int("samples", 400, "how many samples each latency is measured with")
)

// teller is an instrument that speaks unasked; both clocks come 200 times a second.
const (
	teller = `
links:
  line1: {tcp: "instrument:7000"}
  line2: {tcp: "teller:7000"}
devices:
  inst:
    driver: serial
    link: line1
    terminator: "\r\n"
    reply_timeout: 500ms
    attributes:
      polled: {kind: int64, read: "P?", reply: "P=%d", poll: 5ms}
      held: {kind: int64, access: rw, read: "H?", reply: "H=%d", write: "H=%d", poll: 1s}
  teller:
    driver: serial
    link: line2
    terminator: "\r\n"
    attributes:
      told: {kind: int64, listen: "T=%d"}
`
	tellerTold = "teller.told"
)

// The load: 9 clients that read by HTTP, together so many times a second.
const (
	loadClients = 9
	loadRate    = 450
)

// TestLatency measures how long a value takes from the instrument to a client's
// program, and a put to the instrument and to its verdict. It judges no time, but
// wants every sample, in order.
func TestLatency(t *testing.T) {
	report := &latency.Report{Machine: machine()}
	for _, deployment := range []struct {
		name  string
		start func(w *world)
	}{
		{"one gateway with everything in it", func(w *world) {
			w.gateway("gateway", allFrontends+patient(teller), unwatched())
		}},
		{"drivers and frontends apart, NATS between", func(w *world) {
			w.nats("nats")
			w.gateway("gateway", natsOutside+allFrontends, unwatched())
			w.gateway("drivers", natsOutside+noFrontends+patient(teller), unwatched())
		}},
	} {
		t.Run(deployment.name, func(t *testing.T) {
			w := newWorld(t)
			m := &meter{world: w, deployment: deployment.name, report: report, durations: map[key][]time.Duration{}}
			m.asked = w.instrument("instrument")
			m.unasked = w.instrument("teller", "-every", "5ms")
			deployment.start(w)
			m.clients, m.load = w.clients("clients"), w.clients("load")
			m.measure()
		})
	}
	if t.Failed() {
		return
	}
	folder := *outDir
	if folder == "" {
		folder = t.TempDir()
	}
	if err := report.Write(folder); err != nil {
		t.Fatal(err)
	}
	t.Logf("written to %s\n%s", folder, report.Table())
}

// machine says what the figures are to be read with.
func machine() string {
	text := fmt.Sprintf("%s, %d cores, %s %s/%s", time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		text += ", load average at the start " + strings.Fields(string(load))[0]
	}
	return text + ". Polled and unsolicited values come 200 times a second each."
}

// unwatched switches the image's health check off: a program that is started now
// and then is not what is measured.
func unwatched() testcontainers.ContainerCustomizer {
	return testcontainers.WithConfigModifier(func(c *container.Config) {
		c.Healthcheck = &container.HealthConfig{Test: []string{"NONE"}}
	})
}

// A meter measures one deployment.
type meter struct {
	*world
	asked, unasked *box // instruments
	clients, load  *clients
	deployment     string
	report         *latency.Report
	puts           int64 // numbers that were put so far

	durations map[key][]time.Duration
	order     []key // as they came
}

// rounds is how often all measurements are gone through: what disturbs the machine
// for a while then disturbs each of them a little.
const rounds = 4

// A key is one measurement.
type key struct {
	way, protocol    string
	together, loaded bool
}

func (m *meter) measure() {
	for _, protocol := range client.Protocols() { // everything is there and works
		v := m.clients.watch(protocol, "gateway", polled)
		v.await(polled, readback, "good", func(e *client.Event) bool { return e.Good() })
		v.stop()
	}
	for range rounds {
		m.round(false)
		end := m.startLoad()
		m.round(true)
		end()
	}
	for _, k := range m.order {
		m.report.Rows = append(m.report.Rows, latency.Row{
			Deployment: m.deployment, Way: k.way, Protocol: k.protocol, Together: k.together, Loaded: k.loaded,
			Summary: latency.Sum(m.durations[k]),
		})
	}
}

func (m *meter) round(loaded bool) {
	m.t.Helper()
	for _, way := range []struct{ name, attribute string }{
		{"instrument to client, polled", polled},
		{"instrument to client, unsolicited", tellerTold},
	} {
		for _, protocol := range client.Protocols() {
			m.watched(way.name, way.attribute, loaded, protocol)
		}
		m.watched(way.name, way.attribute, loaded, client.Protocols()...)
	}
	for _, protocol := range client.Protocols() {
		m.put(protocol, loaded)
	}
}

func (m *meter) add(k key, durations []time.Duration) {
	if m.durations[k] == nil {
		m.order = append(m.order, k)
	}
	m.durations[k] = append(m.durations[k], durations...)
}

// startLoad returns when all clients of the load have been answered.
func (m *meter) startLoad() (end func()) {
	m.t.Helper()
	ctx, cancel := context.WithCancel(m.t.Context())
	q := url.Values{"host": {"gateway"}, "name": {polled}, "clients": {fmt.Sprint(loadClients)}, "rate": {fmt.Sprint(loadRate)}}
	response, err := m.load.ask(ctx, http.MethodPost, controlPort, "/load?"+q.Encode())
	if err != nil {
		cancel()
		m.t.Fatal(err)
	}
	return func() {
		cancel()
		_ = response.Body.Close()
	}
}

// said is what an instrument tells of itself.
type said struct {
	Polled, Told []int64
	Held         []struct{ Value, At int64 }
}

func (b *box) tells() said {
	b.w.t.Helper()
	var all said
	b.askJSON(http.MethodGet, "7001/tcp", "/said", &all)
	return all
}

// watched measures the way to clients of one protocol, or of several at once.
func (m *meter) watched(way, attribute string, loaded bool, protocols ...string) {
	m.t.Helper()
	count := max(*samples/rounds, 1)
	var seen map[string][]client.Event
	q := url.Values{"protocol": protocols, "host": {"gateway"}, "name": {attribute}, "count": {fmt.Sprint(count)}}
	m.clients.askJSON(http.MethodGet, controlPort, "/collect?"+q.Encode(), &seen)
	var clocks []int64
	if attribute == polled {
		clocks = m.asked.tells().Polled
	} else {
		clocks = m.unasked.tells().Told
	}
	for _, protocol := range protocols {
		events := seen[protocol]
		complete(m.t, way, protocol, events, count, clocks)
		durations := make([]time.Duration, len(events))
		for i, e := range events {
			durations[i] = time.Duration(e.At-int64(*e.Value)) * time.Microsecond
		}
		m.add(key{way, protocol, len(protocols) > 1, loaded}, durations)
	}
}

// put measures puts, one after the other.
func (m *meter) put(protocol string, loaded bool) {
	m.t.Helper()
	count := max(*samples/rounds/2, 1)
	first := m.puts + 1
	m.puts += int64(count)
	var timed []struct{ Value, Began, Ended int64 }
	q := url.Values{"protocol": {protocol}, "host": {"gateway"}, "name": {held}, "first": {fmt.Sprint(first)}, "count": {fmt.Sprint(count)}}
	m.clients.askJSON(http.MethodPost, controlPort, "/puts?"+q.Encode(), &timed)
	arrived := m.asked.tells().Held
	arrived = arrived[len(arrived)-count:]
	toInstrument, toVerdict := make([]time.Duration, count), make([]time.Duration, count)
	for i, p := range timed {
		if arrived[i].Value != p.Value || p.Value != first+int64(i) {
			m.t.Fatalf("put %d by %s: the instrument was told %d, want %d", i, protocol, arrived[i].Value, p.Value)
		}
		toInstrument[i] = time.Duration(arrived[i].At-p.Began) * time.Microsecond
		toVerdict[i] = time.Duration(p.Ended-p.Began) * time.Microsecond
	}
	if protocol == client.SSE {
		protocol = "REST"
	}
	m.add(key{"put: client to instrument", protocol, false, loaded}, toInstrument)
	m.add(key{"put: client to instrument and back with the verdict", protocol, false, loaded}, toVerdict)
}
