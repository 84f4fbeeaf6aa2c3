package graph

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	stdlog "log" //nolint:depguard // net/http's server takes no other logger.
	"mime"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/rs/zerolog"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/internal/webguard"
)

const (
	jsonType     = "application/json"
	responseType = "application/graphql-response+json"
	eventType    = "text/event-stream"
)

// quietLog drops what the HTTP library says of clients that break their
// connections, and keeps the rest for those who look for it.
func quietLog(log zerolog.Logger) *stdlog.Logger {
	return stdlog.New(debugWriter{log}, "", 0)
}

type debugWriter struct{ log zerolog.Logger }

func (w debugWriter) Write(line []byte) (int, error) {
	w.log.Debug().Msg(strings.TrimSpace(string(line)))
	return len(line), nil
}

// ServeHTTP is the first to see a request: it does what holds for all of them.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.requests.enter() {
		return // the connection has just been closed
	}
	defer s.requests.leave()
	defer func() {
		if fault := recover(); fault != nil {
			s.log.Error().Interface("fault", fault).Str("path", r.URL.Path).Bytes("stack", debug.Stack()).Msg("request failed")
			w.Header().Set("Connection", "close")
			s.refuse(w, r, http.StatusInternalServerError, gateway.Errorf(gateway.KindInternal, "a fault of the gateway; its log has more"))
		}
	}()
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(s.limits.read))
	_ = control.SetWriteDeadline(time.Now().Add(s.limits.write))
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	if s.listener.Count() > int64(s.cfg.Connections) {
		w.Header().Set("Connection", "close")
		s.refuse(w, r, http.StatusServiceUnavailable, gateway.Errorf(gateway.KindBusy, "%d connections are open already (frontends.graphql.connections)", s.cfg.Connections))
		return
	}
	if s.admit(w, r) {
		s.route(w, r)
	}
}

// admit lets the guard decide. If it reports false the request is answered.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin != "" {
		w.Header().Add("Vary", "Origin")
	}
	switch s.guard.Decide(webguard.Request{Method: r.Method, Host: r.Host, Origin: origin, Upgrade: r.Header.Get("Upgrade") != ""}) {
	case webguard.RefuseHost:
		s.refuse(w, r, http.StatusForbidden, gateway.Errorf(gateway.KindDenied, "host %q is not served here; add it to frontends.graphql.hosts", gateway.Quotable(r.Host)))
		return false
	case webguard.RefuseOrigin:
		s.refuse(w, r, http.StatusForbidden, gateway.Errorf(gateway.KindDenied, "origin %q may not do that; add it to frontends.graphql.origins", gateway.Quotable(origin)))
		return false
	case webguard.Preflight:
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Allow-Methods", "GET, POST")
		h.Set("Access-Control-Allow-Headers", "Content-Type, Last-Event-ID, X-Request-Id")
		h.Set("Access-Control-Max-Age", "600")
		w.WriteHeader(http.StatusNoContent)
		return false
	case webguard.ServeCORS:
		w.Header().Set("Access-Control-Allow-Origin", origin)
	case webguard.Serve, webguard.ServeOpaque:
	}
	return true
}

func (s *Server) route(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/" || strings.HasPrefix(r.URL.Path, "/explorer."):
		s.page(w, r)
	case r.URL.Path != "/graphql":
		s.refuse(w, r, http.StatusNotFound, gateway.Errorf(gateway.KindNotFound, "there is nothing at %q: /graphql is the interface", gateway.Quotable(r.URL.Path)))
	case r.Header.Get("Upgrade") != "":
		s.websocket(w, r)
	case wantsPage(r):
		s.page(w, r)
	case r.Method == http.MethodGet || r.Method == http.MethodPost:
		s.operation(w, r)
	case r.Method == http.MethodHead:
		w.Header().Set("Content-Type", answerType(r))
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		s.refuse(w, r, http.StatusMethodNotAllowed, gateway.Errorf(gateway.KindMalformed, "want GET or POST, not %s", gateway.Quotable(r.Method)))
	}
}

// operation answers a request with one operation in it.
func (s *Server) operation(w http.ResponseWriter, r *http.Request) {
	params, status, err := s.read(w, r)
	if err != nil {
		s.refuse(w, r, status, err)
		return
	}
	// Nothing more is to come, however long the answer takes.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	ctx := withSession(r.Context(), s.session(r))
	op, failed := s.prepare(ctx, params)
	switch {
	case failed != nil:
		s.answer(w, r, requestStatus(r), failed)
	case r.Method == http.MethodGet && op.Operation.Operation == ast.Mutation:
		w.Header().Set("Allow", "POST")
		s.refuse(w, r, http.StatusMethodNotAllowed, gateway.Errorf(gateway.KindMalformed, "a mutation needs POST"))
	case accepts(r, eventType):
		s.events(ctx, w, r, op)
	case op.Operation.Operation == ast.Subscription:
		s.refuse(w, r, http.StatusBadRequest, gateway.Errorf(gateway.KindMalformed, "a subscription needs a WebSocket, or Accept: text/event-stream"))
	default:
		// A put may take its time; the answer gets its own.
		control := http.NewResponseController(w)
		_ = control.SetWriteDeadline(time.Time{})
		response := s.run(ctx, op)
		_ = control.SetWriteDeadline(time.Now().Add(s.limits.write))
		s.answer(w, r, http.StatusOK, response)
	}
}

// read reads the operation from the query of a GET or the body of a POST, and the
// status for the error.
func (s *Server) read(w http.ResponseWriter, r *http.Request) (*graphql.RawParams, int, error) {
	params := &graphql.RawParams{Headers: r.Header}
	if r.Method == http.MethodGet {
		query := r.URL.Query()
		params.Query, params.OperationName = query.Get("query"), query.Get("operationName")
		for name, into := range map[string]any{"variables": &params.Variables, "extensions": &params.Extensions} {
			if text := query.Get(name); text != "" {
				if err := decode([]byte(text), into); err != nil {
					return nil, http.StatusBadRequest, gateway.Errorf(gateway.KindMalformed, "%s: %w", name, err)
				}
			}
		}
		return params, 0, nil
	}
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != jsonType {
		return nil, http.StatusUnsupportedMediaType, gateway.Errorf(gateway.KindMalformed, "want Content-Type: application/json, not %q", gateway.Quotable(r.Header.Get("Content-Type")))
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		// A few bytes can stand for gigabytes.
		return nil, http.StatusUnsupportedMediaType, gateway.Errorf(gateway.KindMalformed, "a body in the encoding %q is not taken", gateway.Quotable(encoding))
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(s.cfg.MaxBody)))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, http.StatusRequestEntityTooLarge, gateway.Errorf(gateway.KindTooLarge, "the request has more than %d bytes (frontends.graphql.max_body)", s.cfg.MaxBody)
	case err != nil:
		return nil, http.StatusRequestTimeout, gateway.Errorf(gateway.KindMalformed, "the request did not arrive: %w", err)
	}
	if err := decode(body, params); err != nil {
		return nil, http.StatusBadRequest, gateway.Errorf(gateway.KindMalformed, "want an object with \"query\": %w", err)
	}
	return params, 0, nil
}

// decode reads one JSON value, whose numbers keep their digits.
func decode(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	err := decoder.Decode(into)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong) && wrong.Field != "":
		return fmt.Errorf("%q is of type %s", wrong.Field, wrong.Value)
	case errors.As(err, &wrong):
		return fmt.Errorf("it is of type %s", wrong.Value)
	case err != nil:
		return err
	}
	if decoder.More() {
		return errors.New("there is more than one JSON value")
	}
	return nil
}

// accepts reports whether a client asks for a type by name.
func accepts(r *http.Request, want string) bool {
	for _, header := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(header, ",") {
			if media, _, err := mime.ParseMediaType(part); err == nil && media == want {
				return true
			}
		}
	}
	return false
}

func answerType(r *http.Request) string {
	if accepts(r, responseType) {
		return responseType + "; charset=utf-8"
	}
	return jsonType + "; charset=utf-8"
}

// requestStatus is the status for an operation that cannot be executed: with the
// newer type of answer 400, with the older one 200, as clients expect it.
func requestStatus(r *http.Request) int {
	if accepts(r, responseType) {
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// refuse answers what is no operation that can be read.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, status int, err error) {
	s.answer(w, r, status, failure(err))
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, status int, response *graphql.Response) {
	w.Header().Set("Content-Type", answerType(r))
	b := s.takeBuffer()
	defer s.giveBuffer(b)
	b.out = appendResponse(b.out, response)
	w.WriteHeader(status)
	_, _ = w.Write(b.out)
}

// appendResponse writes a response as JSON. Good data is taken as it is, since
// it was made as JSON.
func appendResponse(dst []byte, r *graphql.Response) []byte {
	if len(r.Errors) == 0 && len(r.Extensions) == 0 {
		return append(append(append(dst, `{"data":`...), r.Data...), '}')
	}
	data, err := json.Marshal(r)
	if err != nil {
		// Only words of an error that cannot be JSON lead here.
		return append(dst, `{"errors":[{"message":"the answer cannot be written","extensions":{"code":"internal"}}]}`...)
	}
	return append(dst, data...)
}
