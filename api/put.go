package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"mime"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"

	"github.com/polygate/gateway"
)

// putAttribute answers when there is a verdict. The client going away does not
// end the put, and the wait ends with the budget.
func (s *Server) putAttribute(c *fiber.Ctx) error {
	session := s.session(c)
	attribute, err := s.find(session, c.Params("name"), false)
	if err != nil {
		return err
	}
	if !attribute.CanWrite() {
		c.Set(fiber.HeaderAllow, "GET, HEAD")
		return readOnly(attribute)
	}
	request, opts, err := putRequest(c, attribute)
	if err != nil {
		return err
	}
	if request.Value, err = valueFromBody(c, &attribute.Type); err != nil {
		return refused(err, attribute.Path)
	}
	pending, err := session.Put(request)
	if err != nil {
		return err
	}
	return s.answerVerdict(c, attribute, pending, opts)
}

// saysUnsent makes a handler of puts tell that nothing was sent, whatever it refuses.
func saysUnsent(handle fiber.Handler) fiber.Handler {
	return func(c *fiber.Ctx) error { return gateway.Unsent(handle(c)) }
}

func readOnly(a *gateway.Attribute) error {
	return refused(gateway.Errorf(gateway.KindReadOnly, "it is read-only"), a.Path)
}

// refreshAttribute has an attribute read from its device now. It answers as a put
// does, when the new readback is there.
func (s *Server) refreshAttribute(c *fiber.Ctx) error {
	session := s.session(c)
	attribute, err := s.find(session, c.Params("name"), false)
	if err != nil {
		return err
	}
	request, opts, err := putRequest(c, attribute)
	if err != nil {
		return err
	}
	pending, err := session.Refresh(request)
	if err == nil {
		err = s.answerVerdict(c, attribute, pending, opts)
	}
	if gateway.KindOf(err) == gateway.KindWriteOnly {
		c.Set(fiber.HeaderAllow, "") // nothing can be done here
	}
	return err
}

// postCommand runs a command. The body is its argument, in the forms that a
// put takes; a command without one wants no body.
func (s *Server) postCommand(c *fiber.Ctx) error {
	session := s.session(c)
	command, err := s.find(session, c.Params("name"), true)
	if err != nil {
		return err
	}
	request, opts, err := putRequest(c, command)
	if err != nil {
		return err
	}
	switch body := bytes.TrimSpace(c.Request().Body()); {
	case command.Argument != nil:
		if request.Value, err = valueFromBody(c, command.Argument); err != nil {
			return refused(err, command.Path)
		}
	case len(body) > 0 && string(body) != "{}" && string(body) != "null":
		return refused(gateway.Errorf(gateway.KindWrongType, "the command takes no argument"), command.Path)
	}
	pending, err := session.Execute(request)
	if err != nil {
		return err
	}
	return s.answerVerdict(c, command, pending, opts)
}

// putRequest reads the parts of a put that stand in the query.
func putRequest(c *fiber.Ctx, a *gateway.Attribute) (gateway.PutRequest, gateway.JSONOptions, error) {
	request := gateway.PutRequest{Path: a.Path}
	opts, err := jsonOptions(c)
	if err != nil {
		return request, opts, err
	}
	if request.Mode, err = modeOf(copyOf(c.Query("mode"))); err != nil {
		return request, opts, err
	}
	if request.Budget, err = budgetOf(copyOf(c.Query("budget"))); err != nil {
		return request, opts, err
	}
	request.Urgent, err = boolOf(c, "urgent", false)
	return request, opts, err
}

func modeOf(text string) (gateway.Mode, error) {
	switch text {
	case "", "each":
		return gateway.Each, nil
	case "latest":
		return gateway.Latest, nil
	}
	return 0, gateway.Errorf(gateway.KindMalformed, "mode is \"each\" or \"latest\", not %q", gateway.Quotable(text))
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
	if encoding := c.Get(fiber.HeaderContentEncoding); encoding != "" && !strings.EqualFold(encoding, "identity") {
		// A few bytes can stand for gigabytes.
		return gateway.Value{}, gateway.Errorf(gateway.KindMalformed, "a body in the encoding %q is not taken", gateway.Quotable(copyOf(encoding)))
	}
	body := c.Request().Body()
	contentType, _, err := mime.ParseMediaType(c.Get(fiber.HeaderContentType))
	if err != nil {
		contentType = ""
	}
	switch contentType {
	case fiber.MIMEApplicationJSON:
		return valueFromJSON(body, t)
	case fiber.MIMETextPlain:
		return valueFromText(body, t)
	case fiber.MIMEOctetStream:
		if t.Kind != gateway.Bytes {
			return gateway.Value{}, gateway.Errorf(gateway.KindWrongType, "want %s, got bytes", t.Kind)
		}
		return t.Convert(gateway.BytesOf(body))
	}
	if json.Valid(body) && !plainText(body, t) {
		return valueFromJSON(body, t)
	}
	return valueFromText(body, t)
}

// plainText reports that a body for a text attribute is a number or a word that
// happens to be JSON: 12 then means "12".
func plainText(body []byte, t *gateway.Type) bool {
	first := bytes.TrimSpace(body)[0] // valid JSON is not empty
	return t.Kind == gateway.String && !t.IsArray() && first != '"' && first != '{'
}

func valueFromText(body []byte, t *gateway.Type) (gateway.Value, error) {
	if t.Kind != gateway.Bytes && !utf8.Valid(body) {
		return gateway.Value{}, gateway.Errorf(gateway.KindMalformed, "the body is not text in UTF-8")
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
	if err := unmarshalStrict(body, &wrapped); err != nil {
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

func (s *Server) answerVerdict(c *fiber.Ctx, a *gateway.Attribute, pending gateway.Pending, opts gateway.JSONOptions) error {
	verdict := gateway.Wait(s.aborting, pending)
	if verdict.Err != nil {
		return verdict.Err
	}
	return sendJSON(c, appendVerdict(nil, a, &verdict, opts))
}

// appendVerdict writes a good verdict: the stage, a command's result, and the
// samples that resulted in the form in which a GET shows them.
func appendVerdict(dst []byte, a *gateway.Attribute, v *gateway.Verdict, opts gateway.JSONOptions) []byte {
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
	return appendAttributeMembers(dst, &after, nil, opts)
}

// unmarshalStrict reads one JSON value and refuses members that nobody asked for.
func unmarshalStrict(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if decoder.More() {
		return errors.New("there is more than one JSON value")
	}
	return nil
}
