package api

import (
	"net/url"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"github.com/polygate/gateway"
)

// Page sizes of lists.
const (
	defaultPage = 1000
	maxPage     = 10000
)

func (s *Server) getAttribute(c *fiber.Ctx) error { return s.getOne(c, false) }

func (s *Server) getCommand(c *fiber.Ctx) error { return s.getOne(c, true) }

func (s *Server) getOne(c *fiber.Ctx, command bool) error {
	attribute, err := s.find(s.session(c), c.Params("name"), command)
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
	return sendJSON(c, data)
}

// find returns the attribute or command of a name, which may be a view into a request.
func (s *Server) find(session gateway.Session, name string, command bool) (*gateway.Attribute, error) {
	attribute, err := s.findAny(session, name)
	switch {
	case err != nil:
		return nil, err
	case command && !attribute.IsCommand():
		return nil, gateway.Errorf(gateway.KindNotFound, "%s is an attribute, no command", attribute.Path)
	case !command && attribute.IsCommand():
		return nil, gateway.Errorf(gateway.KindNotFound, "%s is a command, no attribute", attribute.Path)
	}
	return attribute, nil
}

func (s *Server) findAny(session gateway.Session, name string) (*gateway.Attribute, error) {
	path, err := pathOf(name)
	if err != nil {
		return nil, err
	}
	attribute, err := session.Get(path)
	if err != nil {
		s.cache.forget(path)
		return nil, err
	}
	return attribute, nil
}

// pathOf reads a name from a URL. Names that cannot exist do not exist: they
// are not found, as any other name that nothing has. The text is copied, since
// it outlives the request.
func pathOf(param string) (gateway.Path, error) {
	text, err := url.PathUnescape(param)
	if err != nil {
		return "", gateway.Errorf(gateway.KindNotFound, "there is nothing named %q", gateway.Quotable(copyOf(param)))
	}
	path, err := gateway.ParsePath(copyOf(text))
	if err != nil {
		return "", gateway.Errorf(gateway.KindNotFound, "there is nothing of that name: %w", err)
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

// sendJSON answers with data, which is not copied and may be shared.
func sendJSON(c *fiber.Ctx, data []byte) error {
	response := c.Response()
	response.Header.SetContentType(fiber.MIMEApplicationJSON)
	response.Header.SetCanonical([]byte(fiber.HeaderCacheControl), []byte("no-store"))
	response.SetBodyRaw(data)
	return nil
}

func (s *Server) listAttributes(c *fiber.Ctx) error { return s.list(c, "attributes", false) }

func (s *Server) listCommands(c *fiber.Ctx) error { return s.list(c, "commands", true) }

// list answers one page of the attributes or commands that match, and where the
// next one begins.
func (s *Server) list(c *fiber.Ctx, member string, commands bool) error {
	request, err := listRequest(c)
	if err != nil {
		return err
	}
	session, next := s.session(c), request
	body, n, more := append([]byte(`{"`), member+`":[`...), 0, true
	for more && n < request.limit {
		var page []*gateway.Attribute
		page, more = session.List(request.match, next.after, request.limit-n)
		for _, a := range page {
			next.after = a.Path
			if a.IsCommand() != commands {
				continue
			}
			if n++; n > 1 {
				body = append(body, ',')
			}
			if body, err = s.appendListed(body, a, request); err != nil {
				return err
			}
		}
	}
	body = append(body, ']')
	if more {
		body = append(body, `,"next":`...)
		body = gateway.AppendJSONString(body, c.Path()+"?"+next.query())
	}
	return sendJSON(c, append(body, '}'))
}

// listing is what a client may say of a list.
type listing struct {
	match      gateway.Pattern
	after      gateway.Path
	limit      int
	descriptor bool
	opts       gateway.JSONOptions
}

func listRequest(c *fiber.Ctx) (listing, error) {
	var l listing
	var err error
	if l.match, err = gateway.ParsePattern(copyOf(c.Query("match", ">"))); err != nil {
		return l, err
	}
	if l.limit, err = limitOf(c.Query("limit")); err != nil {
		return l, err
	}
	if l.opts, err = jsonOptions(c); err != nil {
		return l, err
	}
	l.after = gateway.Path(copyOf(c.Query("after")))
	l.descriptor, err = boolOf(c, "descriptor", true)
	return l, err
}

// query writes the listing as listRequest reads it.
func (l *listing) query() string {
	values := url.Values{"match": {l.match.String()}, "limit": {strconv.Itoa(l.limit)}, "after": {string(l.after)}}
	if !l.descriptor {
		values.Set("descriptor", "false")
	}
	if l.opts.IntsAsText {
		values.Set("ints", "string")
	}
	return values.Encode()
}

// appendListed does not keep the encoding: a list of everything would keep
// everything encoded, although hardly anybody reads it twice.
func (s *Server) appendListed(dst []byte, a *gateway.Attribute, l listing) ([]byte, error) {
	if !l.descriptor {
		return appendAttribute(dst, a, nil, l.opts), nil
	}
	descriptor, err := s.cache.descriptor(a)
	if err != nil {
		return dst, err
	}
	return appendAttribute(dst, a, descriptor, l.opts), nil
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
