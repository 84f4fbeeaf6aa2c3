package api

import (
	"encoding/json"

	"github.com/fasthttp/websocket"
	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/polygate/gateway"
)

// websocket upgrades to a WebSocket on which a client watches, reads and puts.
func (s *Server) websocket(c *fiber.Ctx) error {
	opts, err := jsonOptions(c)
	if err != nil {
		return err
	}
	conn, session := connOf(c.Context()), s.session(c)
	subscription, err := s.subscribe(c, "websocket", session, nil)
	if err != nil {
		return err
	}
	socket := &socket{
		server: s, session: session, conn: conn, queue: subscription.queue, opts: opts,
		answers: make(chan answer, maxAnswers), slots: make(chan struct{}, maxPuts),
		watches: map[string]gateway.WatchID{}, names: map[gateway.WatchID]string{},
	}
	var head []byte
	upgrader := websocket.FastHTTPUpgrader{
		CheckOrigin: func(*fasthttp.RequestCtx) bool { return true }, // the guard has done that
		Error:       func(*fasthttp.RequestCtx, int, error) {},       // answered below, as everything else
	}
	err = upgrader.Upgrade(c.Context(), func(ws *websocket.Conn) { socket.serve(ws, head) })
	if err != nil {
		conn.free()
		c.Set(fiber.HeaderUpgrade, "websocket")
		c.Set("Sec-WebSocket-Version", "13")
		return fiber.NewError(fiber.StatusUpgradeRequired, "want an upgrade to a WebSocket: "+err.Error())
	}
	// The head is written by the socket itself, so that everything from here
	// on, failures too, ends in one place.
	head = upgradeHead(c)
	c.Context().HijackSetNoResponse(true)
	return nil
}

func upgradeHead(c *fiber.Ctx) []byte {
	head := []byte("HTTP/1.1 101 Switching Protocols\r\n")
	for name, value := range c.Response().Header.All() {
		switch string(name) {
		case fiber.HeaderContentLength, fiber.HeaderContentType:
		default:
			head = append(append(append(append(head, name...), ": "...), value...), "\r\n"...)
		}
	}
	return append(head, "\r\n"...)
}

// clientMessage is what a client may send.
type clientMessage struct {
	Type string `json:"type"` // watch, unwatch, get, put, execute
	ID   string `json:"id"`   // chosen by the client; answers carry it
	watchRequest
	Name   string          `json:"name"`
	Value  json.RawMessage `json:"value"`
	Mode   string          `json:"mode"`
	Budget string          `json:"budget"`
	Urgent bool            `json:"urgent"`
}

// value reads the value of a put to, or the argument of, what the message names.
func (m *clientMessage) value(a *gateway.Attribute) (gateway.Value, error) {
	t := &a.Type
	if a.IsCommand() {
		t = a.Argument
	}
	switch {
	case t != nil && m.Value == nil:
		return gateway.Value{}, gateway.Errorf(gateway.KindMalformed, "the message has no value")
	case t == nil && m.Value != nil:
		return gateway.Value{}, gateway.Errorf(gateway.KindWrongType, "the command takes no argument")
	case t == nil:
		return gateway.Value{}, nil
	}
	return t.ParseJSON(m.Value)
}

// answer is what the writer of a socket is to send: one of attribute, verdict
// (with the attribute it is about) and problem, or nothing but the type.
type answer struct {
	kind, id  string
	attribute *gateway.Attribute
	verdict   *gateway.Verdict
	problem   *problem
}

// appendAnswer writes an answer when its turn has come, so that what waits
// takes no more memory than the samples it is about.
func (s *Server) appendAnswer(dst []byte, a *answer, opts gateway.JSONOptions) ([]byte, error) {
	dst = append(dst, `{"type":"`...)
	dst = append(dst, a.kind...)
	dst = append(dst, `","id":`...)
	dst = gateway.AppendJSONString(dst, a.id)
	switch {
	case a.problem != nil:
		data, err := json.Marshal(a.problem)
		if err != nil {
			return dst, err
		}
		dst = append(dst, `,"problem":`...)
		dst = append(dst, data...)
	case a.verdict != nil:
		dst = append(dst, `,"verdict":`...)
		dst = appendVerdict(dst, a.attribute, a.verdict, opts)
	case a.attribute != nil:
		data, err := s.cache.attribute(a.attribute, opts)
		if err != nil {
			return dst, err
		}
		dst = append(dst, `,"attribute":`...)
		dst = append(dst, data...)
	}
	return append(dst, '}'), nil
}
