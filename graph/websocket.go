package graph

import (
	"encoding/json"
	"net/http"

	"github.com/99designs/gqlgen/graphql"
	"github.com/coder/websocket"

	"github.com/polygate/gateway"
)

// The subprotocols, the preferred one first: that of the library graphql-ws, and
// that of its forerunner subscriptions-transport-ws, which is called graphql-ws.
const (
	transportWS = "graphql-transport-ws"
	legacyWS    = "graphql-ws"
)

// The codes that graphql-transport-ws closes a connection with.
const (
	closeBadRequest      = websocket.StatusCode(4400)
	closeUnauthorized    = websocket.StatusCode(4401)
	closeBadSubprotocol  = websocket.StatusCode(4406)
	closeInitTimeout     = websocket.StatusCode(4408)
	closeDuplicateID     = websocket.StatusCode(4409)
	closeTooManyRequests = websocket.StatusCode(4429)
)

// message is one message of either subprotocol.
type message struct {
	ID      string          `json:"id,omitempty"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// dialect is what the subprotocols call the same things.
type dialect struct {
	subscribe, unsubscribe, next string
	legacy                       bool
}

var dialects = map[string]dialect{
	transportWS: {subscribe: "subscribe", unsubscribe: "complete", next: "next"},
	legacyWS:    {subscribe: "start", unsubscribe: "stop", next: "data", legacy: true},
}

// websocket upgrades to a WebSocket and serves it until it ends.
func (s *Server) websocket(w http.ResponseWriter, r *http.Request) {
	st, err := s.streams.add("websocket", r.RemoteAddr)
	if err != nil {
		s.refuse(w, r, http.StatusServiceUnavailable, err)
		return
	}
	defer s.streams.remove(st)
	if r.Method != http.MethodGet {
		s.refuse(w, r, http.StatusMethodNotAllowed, gateway.Errorf(gateway.KindMalformed, "an upgrade needs GET"))
		return
	}
	ws, err := websocket.Accept(spelled{w}, r, &websocket.AcceptOptions{
		Subprotocols:       []string{transportWS, legacyWS},
		InsecureSkipVerify: true, // the guard has looked at the origin
		CompressionMode:    websocket.CompressionDisabled,
	})
	if err != nil {
		return // it is answered
	}
	ws.SetReadLimit(int64(s.cfg.MaxBody))
	speaks, known := dialects[ws.Subprotocol()]
	if !known {
		so := &socket{server: s, ws: ws}
		so.close(closing{closeBadSubprotocol, "want the subprotocol graphql-transport-ws or graphql-ws"}, func() {})
		return
	}
	so := &socket{
		server: s, ws: ws, dialect: speaks,
		feed:     s.newFeed(st, s.session(r)),
		active:   map[string]*operation{},
		requests: make(chan request, 16), answers: make(chan answer, maxOperations),
		headers: r.Header,
	}
	so.serve()
}

// spelled writes the head of an upgrade with the subprotocol's header as RFC 6455
// spells it. Names of headers have no case, but Python's gql looks for this one.
type spelled struct{ http.ResponseWriter }

// WriteHeader writes the head.
func (w spelled) WriteHeader(status int) {
	h := w.Header()
	const canonical, standard = "Sec-Websocket-Protocol", "Sec-WebSocket-Protocol"
	chosen, ok := h[canonical]
	if ok {
		delete(h, canonical)
		h[standard] = chosen
	}
	w.ResponseWriter.WriteHeader(status)
	if ok {
		h[canonical] = chosen // where the library looks what it has chosen
	}
}

// Unwrap lets the connection be taken over.
func (w spelled) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// appendMessageHead writes a message up to its payload.
func appendMessageHead(dst []byte, kind, id string) []byte {
	dst = append(append(dst, `{"type":"`...), kind...)
	dst = gateway.AppendJSONString(append(dst, `","id":`...), id)
	return append(dst, `,"payload":`...)
}

// appendErrors writes the message that ends an operation which could not begin.
func (d *dialect) appendErrors(dst []byte, id string, response *graphql.Response) []byte {
	var errors any = response.Errors
	if d.legacy {
		errors = response.Errors[0] // it has room for one
	}
	payload, err := json.Marshal(errors)
	if err != nil {
		payload = []byte("[]")
	}
	dst = gateway.AppendJSONString(append(dst, `{"type":"error","id":`...), id)
	return append(append(append(dst, `,"payload":`...), payload...), '}')
}
