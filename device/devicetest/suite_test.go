package devicetest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/device"
	"github.com/polygate/gateway/device/devicetest"
)

// TestSuite runs the suite on a small driver that is written here, so that the
// suite itself is tested and a reader sees what it asks of a driver.
func TestSuite(t *testing.T) {
	devicetest.Run(t, func(t *testing.T) *devicetest.Rig {
		t.Helper()
		d := &lineDriver{dial: make(chan net.Conn, 1)}
		instrument := newThermostat(t, d)
		return &devicetest.Rig{
			Name: "bath", Driver: d,
			Reads: map[gateway.Path]gateway.Value{"bath.target": gateway.Of(20.0)},
			Put:   gateway.PutRequest{Path: "bath.target", Value: gateway.Of(25.0)},
			Refused: &gateway.PutRequest{
				Path: "bath.target", Value: gateway.Of(500.0),
			},
			Writes:    instrument.writes,
			SetSilent: instrument.setSilent,
			Cut:       instrument.cut,
			Mend:      instrument.plug,
			Speak: func() (gateway.Path, gateway.Value) {
				instrument.say("door 1")
				return "bath.door", gateway.Of(true)
			},
		}
	})
}

// A thermostat takes "T?" and "T=25", and says "door 1" by itself.
type thermostat struct {
	t      *testing.T
	driver *lineDriver

	mu     sync.Mutex
	near   net.Conn // the driver's end
	now    *devicetest.Instrument
	all    []*devicetest.Instrument
	target string
	silent bool
}

func newThermostat(t *testing.T, d *lineDriver) *thermostat {
	t.Helper()
	th := &thermostat{t: t, driver: d, target: "20"}
	th.plug()
	return th
}

func (th *thermostat) plug() {
	near, far := net.Pipe()
	th.mu.Lock()
	defer th.mu.Unlock()
	th.near = near
	th.now = devicetest.StartInstrument(th.t, far, devicetest.Line{RequestEnd: "\n", ReplyEnd: "\n"})
	th.now.SetSilent(th.silent)
	th.now.Handle(th.handle)
	th.all = append(th.all, th.now)
	th.driver.dial <- near
}

func (th *thermostat) handle(request string) (string, bool) {
	th.mu.Lock()
	defer th.mu.Unlock()
	value, isSet := strings.CutPrefix(request, "T=")
	switch {
	case !isSet:
		return th.target, true
	case len(value) > 2:
		return "error: too hot", true
	}
	th.target = value
	return "ok", true
}

func (th *thermostat) writes() int {
	th.mu.Lock()
	all := th.all
	th.mu.Unlock()
	n := 0
	for _, instrument := range all {
		for _, request := range instrument.Requests() {
			if strings.HasPrefix(request, "T=") {
				n++
			}
		}
	}
	return n
}

func (th *thermostat) setSilent(silent bool) {
	th.mu.Lock()
	th.silent = silent
	now := th.now
	th.mu.Unlock()
	now.SetSilent(silent)
}

func (th *thermostat) cut() {
	th.mu.Lock()
	defer th.mu.Unlock()
	_ = th.near.Close() // a pipe's Close does not fail
}

func (th *thermostat) say(line string) {
	th.mu.Lock()
	now := th.now
	th.mu.Unlock()
	if err := now.Send(line + "\n"); err != nil {
		th.t.Error(err)
	}
}

// A lineDriver speaks to the thermostat.
type lineDriver struct {
	dial    chan net.Conn
	conn    net.Conn
	replies chan string
	reader  sync.WaitGroup
}

const replyTimeout = 50 * time.Millisecond

func (d *lineDriver) Model() device.Model {
	return device.Model{
		Attributes: []gateway.Descriptor{
			{Path: "bath.target", Traits: &gateway.Traits{Access: gateway.AccessReadWrite, Type: gateway.Type{Kind: gateway.Float64}}},
			{Path: "bath.door", Traits: &gateway.Traits{Access: gateway.AccessRead, Type: gateway.Type{Kind: gateway.Bool}}},
		},
		Polls:        []device.Poll{{Period: 10 * time.Millisecond, Indices: []int{0}}},
		ReplyTimeout: replyTimeout,
	}
}

func (d *lineDriver) Connect(ctx context.Context, out device.Sink) error {
	if d.conn == nil {
		select {
		case d.conn = <-d.dial:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	conn, replies := d.conn, make(chan string, 100)
	d.replies = replies
	if err := conn.SetReadDeadline(time.Time{}); err != nil {
		d.conn = nil
		return fmt.Errorf("%w: %w", device.ErrLost, err)
	}
	d.reader.Go(func() {
		defer close(replies)
		lines := bufio.NewScanner(conn)
		for lines.Scan() {
			if lines.Text() == "door 1" {
				out.Deliver([]device.Reading{{Index: 1, Role: gateway.Readback, Value: gateway.Of(true), Time: time.Now()}})
				continue
			}
			replies <- lines.Text()
		}
		if err := lines.Err(); err == nil || errors.Is(err, io.ErrClosedPipe) {
			out.Lost(device.ErrLost)
		}
	})
	return nil
}

var errTimeout = errors.New("no answer")

func (d *lineDriver) ask(ctx context.Context, request string) (string, error) {
	if _, err := io.WriteString(d.conn, request+"\n"); err != nil {
		return "", fmt.Errorf("%w: %w", device.ErrLost, err)
	}
	timer := time.NewTimer(replyTimeout)
	defer timer.Stop()
	select {
	case reply, ok := <-d.replies:
		if !ok {
			return "", device.ErrLost
		}
		return reply, nil
	case <-timer.C:
		return "", errTimeout
	case <-ctx.Done():
		return "", errTimeout
	}
}

func (d *lineDriver) Poll(ctx context.Context, _ int, into []device.Reading) ([]device.Reading, error) {
	return d.Refresh(ctx, 0, into)
}

func (d *lineDriver) Refresh(ctx context.Context, index int, into []device.Reading) ([]device.Reading, error) {
	if index != 0 {
		return into, nil
	}
	r := device.Reading{Role: gateway.Readback}
	reply, err := d.ask(ctx, "T?")
	switch {
	case errors.Is(err, device.ErrLost):
		return into, err
	case err != nil:
		r.Alarm = gateway.Alarm{Severity: gateway.Invalid, Status: gateway.StatusTimeout}
	default:
		value, err := strconv.ParseFloat(reply, 64)
		if err != nil {
			r.Alarm = gateway.Alarm{Severity: gateway.Invalid, Status: gateway.StatusCalc}
			break
		}
		r.Value = gateway.Of(value)
	}
	r.Time = time.Now()
	return append(into, r), nil
}

func (d *lineDriver) Put(ctx context.Context, _ int, v gateway.Value) device.Outcome {
	reply, err := d.ask(ctx, fmt.Sprintf("T=%g", v.Float()))
	switch {
	case errors.Is(err, device.ErrLost):
		return device.Outcome{Stage: gateway.StageSent, Err: gateway.Errorf(gateway.KindUnknownOutcome, "%w", err), Lost: err}
	case err != nil:
		return device.Outcome{Stage: gateway.StageSent, Err: gateway.Errorf(gateway.KindUnknownOutcome, "%w", err)}
	case reply != "ok":
		refusal := gateway.Errorf(gateway.KindRefusedByDevice, "refused")
		refusal.DeviceWords = reply
		return device.Outcome{Stage: gateway.StageSent, Err: refusal}
	}
	readings, err := d.Refresh(ctx, 0, nil)
	return device.Outcome{Stage: gateway.StageVerified, Readings: readings, Lost: err}
}

// Close keeps the pipe for the next Connect if it is whole: this link has no
// one who would dial again.
func (d *lineDriver) Close() error {
	if d.conn == nil {
		return nil
	}
	err := d.conn.SetReadDeadline(time.Unix(1, 0)) // ends the reader
	d.reader.Wait()
	if err != nil {
		d.conn = nil
	}
	return nil
}
