package serial_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device/link"
	"github.com/polygate/gateway/device/serial"
)

// A babbler is an instrument that never answers and never stops talking: with
// each piece that it says a line ends and the next begins.
type babbler struct {
	line  string
	ended sync.WaitGroup
}

func (b *babbler) Open(context.Context) (link.Port, error) {
	near, far := net.Pipe()
	b.ended.Go(func() { b.serve(far) })
	return near, nil
}

func (*babbler) String() string { return "babbler" }

func (b *babbler) serve(far net.Conn) {
	var all sync.WaitGroup
	all.Go(func() {
		piece := b.line[1:] + "\r\n" + b.line[:1]
		for _, err := io.WriteString(far, b.line[:1]); err == nil; _, err = io.WriteString(far, piece) {
			pause := time.NewTimer(time.Millisecond)
			<-pause.C
		}
	})
	for requests := bufio.NewScanner(far); requests.Scan(); {
	}
	far.Close()
	all.Wait()
}

// What is told unasked, without a pause, does not hold off the end of the wait
// for a reply. This runs on a fake clock.
func TestAReplyIsMissingAlsoWhereTheInstrumentNeverPauses(t *testing.T) {
	for _, test := range []struct {
		name, line string
		want       gateway.Status
	}{
		{"what somebody listens for", "T=1", gateway.StatusTimeout},
		{"what is ignored", "# all is well", gateway.StatusTimeout},
		{"what begins otherwise than the reply", "B=1", gateway.StatusCalc},
		{"empty lines and others", "\r\nT=1", gateway.StatusTimeout},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				instrument := &babbler{line: test.line}
				line := link.NewLine("line1", instrument)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				served := make(chan error, 1)
				go func() { served <- line.Serve(ctx) }()
				driver, err := serial.New("dev", decode(t, `
terminator: "\r\n"
reply_timeout: 400ms
extra_input: ignore
ignore: ["# %*[^\r]"]
attributes:
  a: {kind: int64, read: "a?", reply: "A=%d", poll: 1s}
  told: {kind: int64, listen: "T=%d"}
`), line, zerolog.Nop())
				if err != nil {
					t.Fatal(err)
				}
				if err := driver.Connect(ctx, newSink()); err != nil {
					t.Fatal(err)
				}
				asked := time.Now()
				readings, err := driver.Poll(ctx, 0, nil)
				if err != nil {
					t.Fatal(err)
				}
				if len(readings) != 1 || readings[0].Alarm.Status != test.want {
					t.Errorf("got %+v, want %v", readings, test.want)
				}
				if took := time.Since(asked); took > 2*time.Second {
					t.Errorf("it took %v to notice that no reply comes", took)
				}
				if err := driver.Close(); err != nil {
					t.Error(err)
				}
				cancel()
				if err := <-served; err != nil {
					t.Error(err)
				}
				instrument.ended.Wait()
			})
		})
	}
}
