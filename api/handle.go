package api

import (
	"errors"
	"net"
	"runtime/debug"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/polygate/gateway"
)

// handle is the first to see a request: it does what holds for every answer.
func (s *Server) handle(ctx *fasthttp.RequestCtx) {
	defer func() {
		// A fault in one request must not end the serving of instruments to all others.
		if fault := recover(); fault != nil {
			s.log.Error().Interface("fault", fault).Bytes("path", ctx.Path()).Bytes("stack", debug.Stack()).Msg("request failed")
			s.answer(ctx, problemOf(gateway.Errorf(gateway.KindInternal, "a fault of the gateway; its log has more"), ""))
			ctx.SetConnectionClose()
		}
	}()
	ctx.Response.Header.SetCanonical([]byte(fiber.HeaderXContentTypeOptions), []byte("nosniff"))
	switch {
	case s.listener.count.Load() > int64(s.cfg.Connections):
		ctx.SetConnectionClose()
		s.answer(ctx, problemOf(gateway.Errorf(gateway.KindBusy, "%d connections are open already", s.cfg.Connections), ""))
	case !knownMethod(ctx.Method()):
		p := problemOf(gateway.Errorf(gateway.KindMalformed, "there is no method %q", gateway.Quotable(string(ctx.Method()))), "")
		p.Status = fiber.StatusNotImplemented
		s.answer(ctx, p)
	default:
		s.routed(ctx)
	}
	if s.listener.ending.Load() {
		ctx.SetConnectionClose()
	}
}

func knownMethod(method []byte) bool {
	switch string(method) {
	case fiber.MethodGet, fiber.MethodHead, fiber.MethodPut, fiber.MethodPost, fiber.MethodOptions,
		fiber.MethodDelete, fiber.MethodPatch, fiber.MethodTrace, fiber.MethodConnect:
		return true
	}
	return false
}

// answerBroken answers what the HTTP library could not read as a request. The
// connection is closed behind it.
func (s *Server) answerBroken(ctx *fasthttp.RequestCtx, err error) {
	connOf(ctx).unread = true
	p := problemOf(gateway.Errorf(gateway.KindMalformed, "this is not an HTTP request that can be read"), "")
	var network net.Error
	var tooLong *fasthttp.ErrSmallBuffer
	switch {
	case errors.As(err, &tooLong):
		p = problemOf(gateway.Errorf(gateway.KindTooLarge, "the request line and headers are more than %d bytes", maxHead), "")
		p.Status = fiber.StatusRequestHeaderFieldsTooLarge
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		p = problemOf(gateway.Errorf(gateway.KindTooLarge, "the request body is more than %d bytes (frontends.rest.max_body)", s.cfg.MaxBody), "")
	case errors.As(err, &network) && network.Timeout():
		p = problemOf(gateway.Errorf(gateway.KindMalformed, "the request did not arrive within %v", s.limits.read), "")
		p.Status = fiber.StatusRequestTimeout
	}
	s.answer(ctx, p)
}
