package api

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/gofiber/fiber/v2"
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

var statusOf = map[gateway.ErrorKind]int{
	gateway.KindNotFound:        fiber.StatusNotFound,
	gateway.KindReadOnly:        fiber.StatusMethodNotAllowed,
	gateway.KindWriteOnly:       fiber.StatusMethodNotAllowed,
	gateway.KindMalformed:       fiber.StatusBadRequest,
	gateway.KindTooLarge:        fiber.StatusRequestEntityTooLarge,
	gateway.KindWrongType:       fiber.StatusUnprocessableEntity,
	gateway.KindOutOfRange:      fiber.StatusUnprocessableEntity,
	gateway.KindNotALabel:       fiber.StatusUnprocessableEntity,
	gateway.KindUnauthenticated: fiber.StatusUnauthorized,
	gateway.KindDenied:          fiber.StatusForbidden,
	gateway.KindConflict:        fiber.StatusConflict,
	gateway.KindSuperseded:      fiber.StatusConflict,
	gateway.KindBusy:            fiber.StatusTooManyRequests,
	gateway.KindNotConnected:    fiber.StatusServiceUnavailable,
	gateway.KindBusDown:         fiber.StatusServiceUnavailable,
	gateway.KindShuttingDown:    fiber.StatusServiceUnavailable,
	gateway.KindExpired:         fiber.StatusServiceUnavailable,
	gateway.KindRefusedByDevice: fiber.StatusConflict,
	gateway.KindUnknownOutcome:  fiber.StatusGatewayTimeout,
	gateway.KindInternal:        fiber.StatusInternalServerError,
}

// problemOf describes an error; name is of the attribute or command it is about, or empty.
func problemOf(err error, name string) problem {
	e := gateway.AsError(err)
	status, known := statusOf[e.Kind]
	if !known {
		status = fiber.StatusInternalServerError
	}
	code := e.Kind.String()
	return problem{
		Type:        "urn:polygate:error:" + code,
		Title:       titleOf(code),
		Status:      status,
		Detail:      e.Error(),
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

// answerError is fiber's error handler: every error that a handler returns, and
// every error that fiber or fasthttp find by themselves, ends here.
func (s *Server) answerError(c *fiber.Ctx, err error) error {
	var own *fiber.Error
	if errors.As(err, &own) {
		err = fromHTTP(c, own)
	}
	p := problemOf(err, copyOf(c.Params("name")))
	if own != nil {
		p.Status = own.Code // 404, 405, 413, 431 ... as the library found them
	}
	if p.Code == gateway.KindInternal.String() {
		s.log.Error().Err(err).Str("path", c.Path()).Msg("request failed")
	}
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	c.Response().ResetBody()
	c.Set(fiber.HeaderContentType, "application/problem+json")
	return c.Status(p.Status).Send(data)
}

func fromHTTP(c *fiber.Ctx, e *fiber.Error) error {
	switch e.Code {
	case fiber.StatusNotFound:
		return gateway.Errorf(gateway.KindNotFound, "there is nothing at %q; the interface is described at /docs", gateway.Quotable(copyOf(c.Path())))
	case fiber.StatusMethodNotAllowed:
		return gateway.Errorf(gateway.KindReadOnly, "%s is not possible at %q", c.Method(), gateway.Quotable(copyOf(c.Path())))
	case fiber.StatusRequestEntityTooLarge:
		return gateway.Errorf(gateway.KindTooLarge, "the request body is too large")
	case fiber.StatusRequestHeaderFieldsTooLarge:
		return gateway.Errorf(gateway.KindTooLarge, "the request line or headers are too large")
	case fiber.StatusInternalServerError:
		return gateway.Errorf(gateway.KindInternal, "%s", e.Message)
	}
	return gateway.Errorf(gateway.KindMalformed, "%s", e.Message)
}

func copyOf(s string) string { return strings.Clone(s) }
