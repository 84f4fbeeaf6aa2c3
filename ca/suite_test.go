package ca

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/ca/cawire"
	"github.com/polygate/gateway/internal/frontendtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a frontend on loopback ports that it finds itself.
func serve(t testing.TB, view gateway.View, cfg Config) (*Server, func(context.Context) error) {
	t.Helper()
	if len(cfg.Listen) == 0 {
		cfg.Listen = Endpoints{{Address: "127.0.0.1:0"}}
	}
	if len(cfg.Beacons) == 0 {
		cfg.Beacons = []string{"127.0.0.1:9"} // nobody
	}
	s := New(cfg, view, zerolog.Nop())
	if err := s.Listen(context.Background()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	return s, func(ctx context.Context) error {
		cancel()
		select {
		case err := <-done:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func TestSuite(t *testing.T) {
	frontendtest.Run(t, func(t testing.TB, view gateway.View) *frontendtest.Frontend {
		server, stop := serve(t, view, Config{})
		return &frontendtest.Frontend{
			Protocol: protocol,
			Lacks:    frontendtest.Lacks{Latest: true, Budget: true},
			Stop:     stop,
			Dial: func(t testing.TB) frontendtest.Client {
				c, err := dialRaw(server.Addr().String(), cawire.MinorCurrent)
				if err != nil {
					t.Fatal(err)
				}
				return &suiteClient{rawClient: c, addr: server.Addr().String()}
			},
		}
	})
}

// A suiteClient is a user of the frontend.
type suiteClient struct {
	*rawClient
	addr string
}

// roleChannel is an open channel of one role of an attribute.
type roleChannel struct {
	*cawire.CreateChanReply
	role gateway.Role
}

// timeType is the type to read a channel in: with a time stamp, enums as text.
func (ch *roleChannel) timeType() cawire.Type {
	if ch.Type == cawire.DBREnum {
		return cawire.DBRTimeString
	}
	return ch.Type.In(cawire.Time)
}

const notFound = "not found"

func (c *suiteClient) Code(kind gateway.ErrorKind) string {
	if kind == gateway.KindNotFound {
		return notFound
	}
	return statusOf(gateway.Errorf(kind, "for its status")).String()
}

func (c *suiteClient) Close() error {
	c.close()
	return nil
}

func namesFor(path string) Names {
	return NamesOf(&gateway.Descriptor{Path: gateway.Path(path), Traits: &gateway.Traits{Access: gateway.AccessReadWrite}}, nil)
}

// channels opens what an attribute has.
func (c *rawClient) channels(path string) ([]*roleChannel, error) {
	names := namesFor(path)
	// Both names come at once, so when the first is there the second is too.
	own, err := c.openRole(names.Setpoint, gateway.Setpoint)
	if errors.Is(err, errNoChannel) {
		return nil, &frontendtest.ProtocolError{Code: notFound, Words: names.Setpoint}
	}
	if err != nil {
		return nil, err
	}
	if c.circuit.Channel(own.CID).Rights&cawire.MayWrite == 0 {
		own.role = gateway.Readback
	}
	readback, err := c.openRole(names.Readback, gateway.Readback)
	if errors.Is(err, errNoChannel) {
		return []*roleChannel{own}, nil
	}
	return []*roleChannel{readback, own}, err
}

func (c *rawClient) openRole(name string, role gateway.Role) (*roleChannel, error) {
	if found, err := c.find(name); err != nil || !found {
		return nil, errors.Join(err, errNoChannel)
	}
	ch, err := c.open(name)
	if err != nil {
		return nil, err
	}
	return &roleChannel{CreateChanReply: ch, role: role}, nil
}

func (c *suiteClient) Get(ctx context.Context, path string) (frontendtest.Reading, error) {
	defer within(ctx, c.conn)()
	var reading frontendtest.Reading
	channels, err := c.channels(path)
	if err != nil {
		return reading, err
	}
	for _, ch := range channels {
		reply, err := c.read(ch.SID, ch.timeType(), 0)
		if err != nil {
			return reading, err
		}
		if reply.Status != cawire.ECANormal {
			return reading, &frontendtest.ProtocolError{Code: reply.Status.String()}
		}
		s, err := sampleOf(ch, reply.Count, reply.Payload)
		if err != nil {
			return reading, err
		}
		if ch.role == gateway.Setpoint {
			reading.Setpoint = s
		} else {
			reading.Readback = s
		}
	}
	return reading, c.closeChannels(channels)
}

func (c *suiteClient) closeChannels(channels []*roleChannel) error {
	for _, ch := range channels {
		if err := c.send(&cawire.ClearRequest{SID: ch.SID, CID: ch.CID}); err != nil {
			return err
		}
	}
	return nil
}

func sampleOf(ch *roleChannel, count uint32, payload []byte) (*frontendtest.Sample, error) {
	var meta cawire.Meta
	var v cawire.Values
	if err := cawire.DecodeDBR(ch.timeType(), count, payload, &meta, &v); err != nil {
		return nil, err
	}
	s := &frontendtest.Sample{Value: toJSON(ch, count, &v), Severity: meta.Severity.String(), Status: meta.Status.String()}
	if !meta.Time.IsZero() {
		s.Time = meta.Time.Time()
	}
	return s, nil
}

func toJSON(ch *roleChannel, count uint32, v *cawire.Values) string {
	switch ch.Type {
	case cawire.DBREnum:
		if v.Strings[0] == "true" || v.Strings[0] == "false" {
			return v.Strings[0]
		}
		return quote(v.Strings[0])
	case cawire.DBRString:
		return quote(v.Strings[0])
	case cawire.DBRLong:
		return strconv.Itoa(int(v.Longs[0]))
	}
	var list []string
	for _, x := range v.Doubles {
		list = append(list, strconv.FormatFloat(x, 'g', -1, 64))
	}
	if ch.Count == 1 {
		return list[0]
	}
	return "[" + strings.Join(list[:count], ",") + "]"
}

func quote(s string) string { return string(gateway.AppendJSONString(nil, s)) }

func (c *suiteClient) Put(ctx context.Context, put frontendtest.Put) error {
	defer within(ctx, c.conn)()
	channels, err := c.channels(put.Path)
	if err != nil {
		return err
	}
	typ, v := cawire.DBRDouble, cawire.Values{}
	var text string
	var number float64
	switch {
	case json.Unmarshal([]byte(put.Value), &text) == nil:
		typ, v.Strings = cawire.DBRString, []string{text}
	case json.Unmarshal([]byte(put.Value), &number) == nil:
		v.Doubles = []float64{number}
	default:
		typ, v.Strings = cawire.DBRString, []string{put.Value}
	}
	return c.putTo(channels[len(channels)-1], typ, v, channels)
}

func (c *suiteClient) putTo(ch *roleChannel, typ cawire.Type, v cawire.Values, channels []*roleChannel) error {
	status, err := c.write(ch.SID, typ, 1, encode(typ, 1, v))
	if err != nil {
		return err
	}
	if err := c.closeChannels(channels); err != nil {
		return err
	}
	if status != cawire.ECANormal {
		return &frontendtest.ProtocolError{Code: status.String()}
	}
	return nil
}

func (c *suiteClient) Execute(ctx context.Context, path string) error {
	defer within(ctx, c.conn)()
	channels, err := c.channels(path)
	if err != nil {
		return err
	}
	return c.putTo(channels[0], cawire.DBRShort, cawire.Values{Shorts: []int16{1}}, channels)
}

// Watch has a circuit of its own, since a client reads only when asked.
func (c *suiteClient) Watch(ctx context.Context, path string) (frontendtest.Watch, error) {
	own, err := dialRaw(c.addr, cawire.MinorCurrent)
	if err != nil {
		return nil, err
	}
	w := &suiteWatch{rawClient: own, path: path}
	_, err = w.connect(ctx)
	return w, err
}

type suiteWatch struct {
	*rawClient
	path     string
	channels map[uint32]*roleChannel // by subscription
}

func (w *suiteWatch) Close() error {
	w.close()
	return nil
}

// connect subscribes to what is there, as real clients do when a search succeeds.
func (w *suiteWatch) connect(ctx context.Context) (bool, error) {
	defer within(ctx, w.conn)()
	channels, err := w.rawClient.channels(w.path)
	var failure *frontendtest.ProtocolError
	if errors.As(err, &failure) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	w.channels = map[uint32]*roleChannel{}
	for _, ch := range channels {
		id := w.id()
		w.channels[id] = ch
		err := w.send(&cawire.EventAdd{
			Type: ch.timeType(), SID: ch.SID, SubscriptionID: id, Mask: cawire.DBEValue | cawire.DBELog | cawire.DBEAlarm,
		})
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// searchAgain is how often a client repeats a search that nobody answered.
const searchAgain = 20 * time.Millisecond

func (w *suiteWatch) Next(ctx context.Context) (frontendtest.Event, error) {
	for len(w.channels) == 0 {
		if connected, err := w.connect(ctx); err != nil || connected {
			if err != nil {
				return frontendtest.Event{}, err
			}
			break
		}
		again := time.NewTimer(searchAgain)
		select {
		case <-ctx.Done():
			again.Stop()
			return frontendtest.Event{}, ctx.Err()
		case <-again.C:
		}
	}
	defer within(ctx, w.conn)()
	for {
		m, err := w.receive()
		if err != nil {
			if ctx.Err() != nil {
				err = ctx.Err()
			}
			return frontendtest.Event{}, err
		}
		switch m := m.(type) {
		case *cawire.Event:
			ch := w.channels[m.SubscriptionID]
			if m.Status != cawire.ECANormal {
				return frontendtest.Event{}, fmt.Errorf("an event with %v", m.Status)
			}
			s, err := sampleOf(ch, m.Count, m.Payload)
			if err != nil {
				return frontendtest.Event{}, err
			}
			return frontendtest.Event{Path: w.path, Role: ch.role, Sample: *s}, nil
		case *cawire.ServerDisconn:
			for id, ch := range w.channels {
				if ch.CID == m.CID {
					delete(w.channels, id)
				}
			}
			if len(w.channels) == 0 {
				return frontendtest.Event{Path: w.path, Removed: true}, nil
			}
		}
	}
}
