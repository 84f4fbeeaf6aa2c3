package api

import (
	"bytes"
	"context"
	"encoding/json"
	"mime"
	"net/url"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"
	"github.com/polygate/gateway"
)

// Page sizes of lists.
const (
	defaultPage = 1000
	maxPage     = 10000
)

func (s *Server) getAttribute(c *fiber.Ctx) error {
	return s.getOne(c, false)
}

func (s *Server) getOne(c *fiber.Ctx, command bool) error {
	attribute, err := s.lookup(c, s.session(c), command)
	if err != nil {
		return err
	}
	opts, err := jsonOptions(c)
	if err != nil {
		return err
	}
	data, err := s.cache.attribute(attribute, opts)
	if err != nil {
		return err
	}
	return sendJSON(c, fiber.StatusOK, data)
}

// lookup finds the attribute or command that the URL names.
func (s *Server) lookup(c *fiber.Ctx, session gateway.Session, command bool) (*gateway.Attribute, error) {
	path, err := pathOf(c.Params("name"))
	if err != nil {
		return nil, err
	}
	attribute, err := session.Get(path)
	if err != nil {
		s.cache.forget(path)
		return nil, err
	}
	switch {
	case command && !attribute.IsCommand():
		return nil, gateway.Errorf(gateway.KindNotFound, "%s is an attribute: see /api/v1/attributes/%s", path, path)
	case !command && attribute.IsCommand():
		return nil, gateway.Errorf(gateway.KindNotFound, "%s is a command: see /api/v1/commands/%s", path, path)
	}
	return attribute, nil
}

// pathOf reads a name from a URL. Names that cannot exist do not exist: they
// are not found, as any other name that nothing has. The text is copied, since
// it outlives the request.
func pathOf(param string) (gateway.Path, error) {
	text, err := url.PathUnescape(param)
	if err != nil {
		return "", gateway.Errorf(gateway.KindNotFound, "there is no attribute %q", gateway.Quotable(copyOf(param)))
	}
	path, err := gateway.ParsePath(copyOf(text))
	if err != nil {
		return "", gateway.Errorf(gateway.KindNotFound, "there is no such attribute: %w", err)
	}
	return path, nil
}

func jsonOptions(c *fiber.Ctx) (gateway.JSONOptions, error) {
	switch text := c.Query("ints"); text {
	case "", "number":
		return gateway.JSONOptions{}, nil
	case "string":
		return gateway.JSONOptions{IntsAsText: true}, nil
	default:
		return gateway.JSONOptions{}, gateway.Errorf(gateway.KindMalformed, "ints is \"number\" or \"string\", not %q", gateway.Quotable(copyOf(text)))
	}
}

func sendJSON(c *fiber.Ctx, status int, data []byte) error {
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	c.Set(fiber.HeaderCacheControl, "no-store")
	c.Status(status).Response().SetBodyRaw(data)
	return nil
}

func (s *Server) listAttributes(c *fiber.Ctx) error {
	return s.list(c, "attributes", func(a *gateway.Attribute) bool { return !a.IsCommand() })
}

// list answers one page of what matches and is wanted, and where the next begins.
func (s *Server) list(c *fiber.Ctx, member string, wanted func(*gateway.Attribute) bool) error {
	match, err := patternOf(c.Query("match", ">"))
	if err != nil {
		return err
	}
	limit, err := limitOf(c.Query("limit"))
	if err != nil {
		return err
	}
	opts, err := jsonOptions(c)
	if err != nil {
		return err
	}
	withDescriptor, err := boolOf(c, "descriptor", true)
	if err != nil {
		return err
	}
	session, after := s.session(c), gateway.Path(copyOf(c.Query("after")))
	body, n, more := append([]byte(`{"`), member+`":[`...), 0, true
	for more && n < limit {
		var page []*gateway.Attribute
		page, more = session.List(match, after, limit-n)
		for _, a := range page {
			after = a.Path
			if !wanted(a) {
				continue
			}
			if n > 0 {
				body = append(body, ',')
			}
			if body, err = s.appendListed(body, a, withDescriptor, opts); err != nil {
				return err
			}
			n++
		}
	}
	body = append(body, ']')
	if more {
		next := url.Values{"match": {match.String()}, "limit": {strconv.Itoa(limit)}, "after": {string(after)}}
		for _, name := range []string{"ints", "descriptor"} {
			if value := c.Query(name); value != "" {
				next.Set(name, copyOf(value))
			}
		}
		body = append(body, `,"next":`...)
		body = gateway.AppendJSONString(body, c.Path()+"?"+next.Encode())
	}
	return sendJSON(c, fiber.StatusOK, append(body, '}'))
}

// appendListed does not fill the cache: a list of everything would keep
// everything encoded, although hardly anybody reads it twice.
func (s *Server) appendListed(dst []byte, a *gateway.Attribute, withDescriptor bool, opts gateway.JSONOptions) ([]byte, error) {
	var descriptor []byte
	if withDescriptor {
		var err error
		if descriptor, err = s.cache.entry(a.Path).encodedDescriptor(a.Descriptor); err != nil {
			return dst, err
		}
	}
	return appendAttribute(dst, a, descriptor, opts), nil
}

func patternOf(text string) (gateway.Pattern, error) {
	return gateway.ParsePattern(copyOf(text))
}

func limitOf(text string) (int, error) {
	if text == "" {
		return defaultPage, nil
	}
	limit, err := strconv.Atoi(text)
	if err != nil || limit < 1 || limit > maxPage {
		return 0, gateway.Errorf(gateway.KindMalformed, "limit is a number from 1 to %d, not %q", maxPage, gateway.Quotable(copyOf(text)))
	}
	return limit, nil
}

func boolOf(c *fiber.Ctx, name string, otherwise bool) (bool, error) {
	switch text := c.Query(name); text {
	case "":
		return otherwise, nil
	case "true", "1":
		return true, nil
	case "false", "0":
		return false, nil
	default:
		return false, gateway.Errorf(gateway.KindMalformed, "%s is true or false, not %q", name, gateway.Quotable(copyOf(text)))
	}
}

func (s *Server) putAttribute(c *fiber.Ctx) error {
	session := s.session(c)
	attribute, err := s.lookup(c, session, false)
	if err != nil {
		return err
	}
	if !attribute.CanWrite() {
		c.Set(fiber.HeaderAllow, "GET, HEAD")
		return gateway.Errorf(gateway.KindReadOnly, "%s can only be read", attribute.Path)
	}
	request, err := putOptions(c, attribute.Path)
	if err != nil {
		return err
	}
	if request.Value, err = valueFromBody(c, &attribute.Type); err != nil {
		return refused(err, attribute.Path)
	}
	pending, err := session.Put(request)
	return s.answerVerdict(c, attribute, pending, err)
}

// putOptions reads the parts of a put that stand in the query.
func putOptions(c *fiber.Ctx, path gateway.Path) (gateway.PutRequest, error) {
	request := gateway.PutRequest{Path: path}
	switch text := c.Query("mode"); text {
	case "", "each":
	case "latest":
		request.Mode = gateway.Latest
	default:
		return request, gateway.Errorf(gateway.KindMalformed, "mode is \"each\" or \"latest\", not %q", gateway.Quotable(copyOf(text)))
	}
	budget, err := budgetOf(copyOf(c.Query("budget")))
	if err != nil {
		return request, err
	}
	request.Budget = budget
	request.Urgent, err = boolOf(c, "urgent", false)
	return request, err
}

func budgetOf(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	budget, err := time.ParseDuration(text)
	if err != nil || budget <= 0 || budget > gateway.MaxBudget {
		return 0, gateway.Errorf(gateway.KindMalformed, "budget is a time such as 500ms or 5s, at most %v, not %q", gateway.MaxBudget, gateway.Quotable(text))
	}
	return budget, nil
}

// valueFromBody reads the value of a put. JSON may be the bare value or an
// object with the member "value"; text/plain is the value as a person writes
// it; application/octet-stream is for bytes. Any other type, such as what curl
// sends by itself, is taken as JSON where it is JSON and as text where it is not.
func valueFromBody(c *fiber.Ctx, t *gateway.Type) (gateway.Value, error) {
	body := c.Body()
	contentType, _, err := mime.ParseMediaType(c.Get(fiber.HeaderContentType))
	if err != nil {
		contentType = ""
	}
	switch contentType {
	case fiber.MIMEApplicationJSON:
		return valueFromJSON(body, t)
	case fiber.MIMETextPlain:
		return t.Parse(string(body))
	case fiber.MIMEOctetStream:
		if t.Kind != gateway.Bytes {
			return gateway.Value{}, gateway.Errorf(gateway.KindWrongType, "want %s, got bytes", t.Kind)
		}
		return t.Convert(gateway.BytesOf(body))
	}
	if json.Valid(body) {
		return valueFromJSON(body, t)
	}
	if !utf8.Valid(body) {
		return gateway.Value{}, gateway.Errorf(gateway.KindMalformed, "the body is neither JSON nor text")
	}
	return t.Parse(string(body))
}

func valueFromJSON(body []byte, t *gateway.Type) (gateway.Value, error) {
	body = bytes.TrimSpace(body)
	if len(body) == 0 || body[0] != '{' {
		return t.ParseJSON(body)
	}
	var wrapped struct {
		Value json.RawMessage `json:"value"`
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&wrapped); err != nil {
		return gateway.Value{}, gateway.Errorf(gateway.KindMalformed, "want {\"value\": ...}: %w", err)
	}
	if wrapped.Value == nil {
		return gateway.Value{}, gateway.Errorf(gateway.KindMalformed, "want {\"value\": ...}")
	}
	return t.ParseJSON(wrapped.Value)
}

// refused adds what a conversion does not know: which attribute, and that
// nothing was sent.
func refused(err error, path gateway.Path) error {
	return &gateway.Error{
		Kind: gateway.KindOf(err), Stage: gateway.StageRefused,
		Msg: string(path) + ": " + err.Error(), Err: err,
	}
}

// answerVerdict waits for the verdict of a put and answers with it. The client
// going away does not end the put; the wait ends with the budget.
func (s *Server) answerVerdict(c *fiber.Ctx, attribute *gateway.Attribute, pending gateway.Pending, err error) error {
	if err != nil {
		return err
	}
	opts, err := jsonOptions(c)
	if err != nil {
		return err
	}
	verdict := gateway.Wait(context.Background(), pending)
	if verdict.Err != nil {
		return verdict.Err
	}
	return sendJSON(c, fiber.StatusOK, appendVerdict(nil, attribute, verdict, opts))
}

// appendVerdict writes a good verdict: the stage, a command's result, and the
// samples that resulted in the form in which a GET shows them.
func appendVerdict(dst []byte, a *gateway.Attribute, v gateway.Verdict, opts gateway.JSONOptions) []byte {
	after := *a
	after.Readback, after.Setpoint = v.Readback, v.Setpoint
	dst = append(dst, `{"stage":"`...)
	dst = append(dst, v.Stage.String()...)
	dst = append(dst, `",`...)
	if a.Result != nil {
		dst = append(dst, `"result":`...)
		dst = a.Result.AppendJSON(dst, v.Result, opts)
		dst = append(dst, ',')
	}
	return append(dst, appendAttribute(nil, &after, nil, opts)[1:]...)
}
