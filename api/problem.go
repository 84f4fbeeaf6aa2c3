package api

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/polygate/gateway"
)

// problem is an error as RFC 9457 has it, with our members code, stage, name
// and device_words.
type problem struct {
	Type        string `json:"type"`
	Title       string `json:"title"`
	Status      int    `json:"status"`
	Detail      string `json:"detail"`
	Code        string `json:"code"`
	Stage       string `json:"stage,omitempty"`
	Name        string `json:"name,omitempty"`
	DeviceWords string `json:"device_words,omitempty"`
}

const problemType = "application/problem+json"

// statusOf returns the HTTP status of an error kind.
func statusOf(kind gateway.ErrorKind) int {
	switch kind {
	case gateway.KindNotFound:
		return fiber.StatusNotFound
	case gateway.KindReadOnly, gateway.KindWriteOnly:
		return fiber.StatusMethodNotAllowed
	case gateway.KindMalformed:
		return fiber.StatusBadRequest
	case gateway.KindTooLarge:
		return fiber.StatusRequestEntityTooLarge
	case gateway.KindWrongType, gateway.KindOutOfRange, gateway.KindNotALabel:
		return fiber.StatusUnprocessableEntity
	case gateway.KindUnauthenticated:
		return fiber.StatusUnauthorized
	case gateway.KindDenied:
		return fiber.StatusForbidden
	case gateway.KindConflict, gateway.KindSuperseded, gateway.KindRefusedByDevice:
		return fiber.StatusConflict
	case gateway.KindBusy:
		return fiber.StatusTooManyRequests
	case gateway.KindNotConnected, gateway.KindBusDown, gateway.KindShuttingDown, gateway.KindExpired:
		return fiber.StatusServiceUnavailable
	case gateway.KindUnknownOutcome:
		return fiber.StatusGatewayTimeout
	default:
		return fiber.StatusInternalServerError
	}
}

// problemOf describes an error; name is of the attribute or command it is about, or empty.
func problemOf(err error, name string) problem {
	e := gateway.AsError(err)
	code := e.Kind.String()
	return problem{
		Type:        "urn:polygate:error:" + code,
		Title:       titleOf(code),
		Status:      statusOf(e.Kind),
		Detail:      strings.ToValidUTF8(e.Error(), "\uFFFD"),
		Code:        code,
		Stage:       e.Stage.String(),
		Name:        name,
		DeviceWords: e.DeviceWords,
	}
}

// titleOf turns "out_of_range" into "Out of range".
func titleOf(code string) string {
	words := strings.ReplaceAll(code, "_", " ")
	return strings.ToUpper(words[:1]) + words[1:]
}

// answer makes a problem the answer. Headers that were set before stay.
func (s *Server) answer(ctx *fasthttp.RequestCtx, p problem) {
	data, err := json.Marshal(p)
	if err != nil { // texts and numbers always have an encoding
		s.log.Error().Err(err).Msg("encoding a problem")
	}
	if p.Code == gateway.KindBusy.String() {
		ctx.Response.Header.Set(fiber.HeaderRetryAfter, "1")
	}
	ctx.Response.ResetBody()
	ctx.Response.Header.SetContentType(problemType)
	ctx.Response.Header.Set(fiber.HeaderCacheControl, "no-store")
	ctx.SetStatusCode(p.Status)
	ctx.SetBody(data)
}

// answerError is fiber's error handler: every error that a handler or the
// router returns ends here.
func (s *Server) answerError(c *fiber.Ctx, err error) error {
	status := 0
	var routed *fiber.Error
	if errors.As(err, &routed) {
		status, err = routed.Code, fromRouter(c, routed)
	}
	name := ""
	if path, err := pathOf(c.Params("name")); err == nil {
		name = string(path)
	}
	p := problemOf(err, name)
	if status != 0 {
		p.Status = status
	}
	if gateway.KindOf(err) == gateway.KindInternal {
		s.log.Error().Err(err).Bytes("path", c.Context().Path()).Msg("request failed")
	}
	s.answer(c.Context(), p)
	return nil
}

// fromRouter gives words to what the router found, which are statuses without a kind.
func fromRouter(c *fiber.Ctx, e *fiber.Error) error {
	path := gateway.Quotable(copyOf(c.Path()))
	switch e.Code {
	case fiber.StatusNotFound:
		return gateway.Errorf(gateway.KindNotFound, "there is nothing at %q; the interface is described at /docs/", path)
	case fiber.StatusMethodNotAllowed:
		return gateway.Errorf(gateway.KindMalformed, "%s is not possible at %q", copyOf(c.Method()), path)
	}
	return gateway.Errorf(gateway.KindMalformed, "%s", e.Message)
}

// copyOf copies a string of a request, which is only good until the handler returns.
func copyOf(s string) string { return strings.Clone(s) }
