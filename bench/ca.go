//go:build linux

package main

import (
	"fmt"
	"sync"

	"github.com/polygate/gateway/bus/embedded"
)

// softPV is the process variable that is read and written, on all servers that have
// records of our naming.
const softPV = "SOFT:V00000"

// The programs that are compared over Channel Access.
const (
	ours       = "polygate"
	ioc        = "softIoc"
	floor      = "floor"
	fastCS     = "FastCS"
	caproto    = "caproto"
	busRequest = "NATS request"
)

var caGet = measure{
	name: "ca-get", title: "Channel Access get of a soft attribute, median latency, over softIoc",
	target: "at most 1, or 1.15 over the floor", run: func(b *bench) (outcome, error) { return getOverIOC(b, medianLatency) },
}

var caGetP99 = measure{
	name: "ca-get-p99", title: "the same, 99th percentile",
	target: "at most 1, or 1.15 over the floor", run: func(b *bench) (outcome, error) { return getOverIOC(b, p99Latency) },
}

var caGetFloor = measure{
	name: "ca-get-floor", title: "Channel Access get, median latency, over canned bytes",
	target: "", run: func(b *bench) (outcome, error) { return caRatio(b.gets, medianLatency, floor) },
}

var caGetFloorP99 = measure{
	name: "ca-get-floor-p99", title: "the same, 99th percentile",
	target: "", run: func(b *bench) (outcome, error) { return caRatio(b.gets, p99Latency, floor) },
}

var caGetFastCS = measure{
	name: "ca-get-fastcs", title: "Channel Access get, median latency, over FastCS",
	target: "", run: func(b *bench) (outcome, error) { return caRatio(b.gets, medianLatency, fastCS) },
}

var caGetCaproto = measure{
	name: "ca-get-caproto", title: "the same over caproto",
	target: "", run: func(b *bench) (outcome, error) { return caRatio(b.gets, medianLatency, caproto) },
}

var caPut = measure{
	name: "ca-put", title: "Channel Access put with callback, median latency, over that to canned bytes and a bare NATS request together",
	target: "at most 1.15", run: func(b *bench) (outcome, error) { return putOverFloor(b, medianLatency) },
}

var caPutP99 = measure{
	name: "ca-put-p99", title: "the same, 99th percentile",
	target: "at most 1.15", run: func(b *bench) (outcome, error) { return putOverFloor(b, p99Latency) },
}

var caPutIOC = measure{
	name: "ca-put-softioc", title: "Channel Access put with callback, median latency, over softIoc",
	target: "", run: func(b *bench) (outcome, error) { return caRatio(b.puts, medianLatency, ioc) },
}

var caPutFastCS = measure{
	name: "ca-put-fastcs", title: "the same over FastCS",
	target: "", run: func(b *bench) (outcome, error) { return caRatio(b.puts, medianLatency, fastCS) },
}

var caPutCaproto = measure{
	name: "ca-put-caproto", title: "the same over caproto",
	target: "", run: func(b *bench) (outcome, error) { return caRatio(b.puts, medianLatency, caproto) },
}

// caRatio compares the gateway with programs of the same rounds.
func caRatio(take func() (*rounds, error), of statistic, references ...string) (outcome, error) {
	taken, err := take()
	if err != nil {
		return outcome{}, err
	}
	return latencyOutcome(taken.compare(of, ours, references...), nil), nil
}

func latencyOutcome(r ratio, target *bound) outcome {
	return against(r, target, fmt.Sprintf("%.0f against %.0f µs", r.Subject, r.Reference))
}

func getOverIOC(b *bench, of statistic) (outcome, error) {
	taken, err := b.gets()
	if err != nil {
		return outcome{}, err
	}
	out := latencyOutcome(taken.compare(of, ours, ioc), atMost(1))
	overFloor := taken.compare(of, ours, floor)
	if out.Met != nil && overFloor.measurable() && atMost(1.15).holds(overFloor.Median) {
		*out.Met = true
	}
	return out, nil
}

func putOverFloor(b *bench, of statistic) (outcome, error) {
	taken, err := b.puts()
	if err != nil {
		return outcome{}, err
	}
	return latencyOutcome(taken.compare(of, ours, floor, busRequest), atMost(1.15)), nil
}

// takeGets reads one value from everybody in turn.
func takeGets(b *bench) (*rounds, error) {
	servers, err := startAll(b)
	if err != nil {
		return nil, err
	}
	defer servers.stop()
	programs := servers.programs(func(s *caServer, pv string) func() ([]float64, error) { return s.client.get(pv, b.window) })
	return takeRounds(b.pairs, programs[0], programs[1:]...)
}

// takePuts writes one value to everybody in turn, and between asks a broker in this
// process a question of a put's size.
func takePuts(b *bench) (*rounds, error) {
	broker, err := embedded.Start(embedded.Options{})
	if err != nil {
		return nil, err
	}
	defer broker.Shutdown()
	bare, err := startRequests(broker)
	if err != nil {
		return nil, err
	}
	defer bare.close()
	servers, err := startAll(b)
	if err != nil {
		return nil, err
	}
	defer servers.stop()
	programs := servers.programs(func(s *caServer, pv string) func() ([]float64, error) { return s.client.put(pv, b.window) })
	return takeRounds(b.pairs, programs[0], append(programs[1:], program{busRequest, bare.latencies})...)
}

// caServers are all servers of one soft value, each with its client.
type caServers []namedServer

type namedServer struct {
	name, pv string
	*caServer
}

func startAll(b *bench) (caServers, error) {
	var all caServers
	for _, one := range []struct {
		name, pv string
		start    func() (*caServer, error)
	}{
		{ours, softPV, func() (*caServer, error) { return b.startCA(softPV, softDevice(1)) }},
		{ioc, softPV, func() (*caServer, error) { return b.startIOC(softPV, softRecords(1)) }},
		{floor, softPV, b.startFloorCA},
		{fastCS, peerPV, b.startFastCS},
		{caproto, peerPV, b.startCaproto},
	} {
		s, err := one.start()
		if err != nil {
			all.stop()
			return nil, fmt.Errorf("%s: %w", one.name, err)
		}
		all = append(all, namedServer{one.name, one.pv, s})
	}
	return all, nil
}

func (all caServers) programs(window func(s *caServer, pv string) func() ([]float64, error)) []program {
	programs := make([]program, len(all))
	for i, s := range all {
		programs[i] = program{s.name, window(s.caServer, s.pv)}
	}
	return programs
}

func (all caServers) stop() {
	for _, s := range all {
		s.caServer.stop()
	}
}

// connectedChannels is how many channels are connected at once, by so many clients in
// turn for one look: a client that has been connected already is faster.
const (
	connectedChannels = 1000
	connectingClients = 5
)

var caConnect = measure{
	name: "ca-connect", title: "1,000 channels connected by search, median of fresh clients, over softIoc",
	target: "at most 1", run: func(b *bench) (outcome, error) {
		return besideIOC(b, softDevice(connectedChannels), softRecords(connectedChannels), softPV, connectAnew)
	},
}

func connectAnew(s *caServer) func() ([]float64, error) {
	once := func() (float64, error) {
		client, err := s.client.another()
		if err != nil {
			return 0, err
		}
		defer client.stop()
		took, err := client.latencies("connect SOFT:V %d", connectedChannels)
		return median(took), err
	}
	return func() ([]float64, error) {
		took := make([]float64, connectingClients)
		for i := range took {
			var err error
			if took[i], err = once(); err != nil {
				return nil, err
			}
		}
		return took, nil
	}
}

// waveDevice and waveRecords have an array of 1 MB.
const (
	wavePV      = "SOFT:Wave"
	waveDevice  = "devices: {soft: {driver: soft, attributes: {wave: {kind: float64, shape: [131072]}}}}\n"
	waveRecords = `record(waveform, "SOFT:Wave") { field(FTVL, DOUBLE) field(NELM, 131072) }`
)

var caArray = measure{
	name: "ca-array", title: "Channel Access get of an array of 1 MB, median latency, over softIoc",
	target: "at most 1", run: func(b *bench) (outcome, error) {
		return besideIOC(b, waveDevice, waveRecords, wavePV, func(s *caServer) func() ([]float64, error) {
			fill := sync.OnceValue(func() error {
				_, err := s.client.ask("fill %s", wavePV)
				return err
			})
			return func() ([]float64, error) {
				if err := fill(); err != nil {
					return nil, err
				}
				return s.client.latencies("get %s %d", wavePV, b.window.Milliseconds())
			}
		})
	},
}

// besideIOC compares what a client sees of a gateway with what it sees of softIoc.
func besideIOC(b *bench, devices, records, pv string, window func(*caServer) func() ([]float64, error)) (outcome, error) {
	gateway, err := b.startCA(pv, devices)
	if err != nil {
		return outcome{}, err
	}
	defer gateway.stop()
	softIoc, err := b.startIOC(pv, records)
	if err != nil {
		return outcome{}, err
	}
	defer softIoc.stop()
	taken, err := takeRounds(b.pairs, program{ours, window(gateway)}, program{ioc, window(softIoc)})
	if err != nil {
		return outcome{}, err
	}
	return latencyOutcome(taken.compare(medianLatency, ours, ioc), atMost(1)), nil
}
