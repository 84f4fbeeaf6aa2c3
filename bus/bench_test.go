package bus_test

import (
	"testing"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/bus"
	"github.com/polygate/gateway/bus/bustest"
	"github.com/polygate/gateway/bus/embedded"
)

// BenchmarkUpdateToHub is the time from Update to the return of Receive.
func BenchmarkUpdateToHub(b *testing.B) {
	conn := bustest.New(b)
	hub := listen(b, conn)
	u := update(oven, gateway.Of(1.5), 1)
	b.ReportAllocs()
	for b.Loop() {
		must(b, conn.Update(u))
		next[*gateway.Update](hub)
	}
}

// BenchmarkPutRoundTrip is the time from SendPut to its verdict in Receive,
// without a device: what the bus adds to every put.
func BenchmarkPutRoundTrip(b *testing.B) {
	benchmarkPut(b, embedded.Options{})
}

// BenchmarkPutRoundTripTCP is the same with both connections on loopback.
func BenchmarkPutRoundTripTCP(b *testing.B) {
	benchmarkPut(b, embedded.Options{Listen: "127.0.0.1:0"})
}

func benchmarkPut(b *testing.B, opts embedded.Options) {
	b.Helper()
	broker := bustest.Broker(b, opts)
	connect := func() *bus.Conn { return bustest.Connect(b, broker) }
	if opts.Listen != "" {
		connect = func() *bus.Conn { return dial(b, broker.URL()) }
	}
	driver, hub := connect(), listen(b, connect())
	handler := newRecorder()
	verdict := &gateway.PutVerdict{Owner: oven, Verdict: gateway.Verdict{Stage: gateway.StageVerified}}
	handler.onPut = func(_ *gateway.Put, answer func(*gateway.PutVerdict)) { answer(verdict) }
	own(b, driver, oven, handler)
	p := put(oven, 1)
	for b.Loop() {
		must(b, hub.SendPut(p))
		next[*gateway.PutVerdict](hub)
		<-handler.puts
	}
}

// BenchmarkFlood is the cost of one of many updates that are published as fast
// as the hub takes them.
func BenchmarkFlood(b *testing.B) {
	conn := bustest.New(b)
	hub := listen(b, conn)
	u := update(oven, gateway.Of(1.5), 1)
	const batch = 1000
	b.ReportAllocs()
	for b.Loop() {
		for range batch {
			must(b, conn.Update(u))
		}
		for range batch {
			next[*gateway.Update](hub)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batch, "ns/update")
}

// BenchmarkLateHub is the time from an announcement of 10,000 attributes to its
// last piece at a hub, over TCP: what a hub that joins late waits for, beside its
// own work.
func BenchmarkLateHub(b *testing.B) {
	broker := bustest.Broker(b, embedded.Options{Listen: "127.0.0.1:0"})
	driver, hub := dial(b, broker.URL()), listen(b, dial(b, broker.URL()))
	a := announcement(10_000, 20)
	for b.Loop() {
		must(b, driver.Announce(a))
		for piece := next[*gateway.Announcement](hub); piece.Piece+1 < piece.Pieces; {
			piece = next[*gateway.Announcement](hub)
		}
	}
}
