package api

import (
	"github.com/gofiber/fiber/v2"
	"github.com/polygate/gateway"
)

func (s *Server) listCommands(c *fiber.Ctx) error {
	return s.list(c, "commands", func(a *gateway.Attribute) bool { return a.IsCommand() })
}

func (s *Server) getCommand(c *fiber.Ctx) error { return s.getOne(c, true) }

// postCommand runs a command. The body is its argument, in the forms that a
// put takes; a command without one wants no body.
func (s *Server) postCommand(c *fiber.Ctx) error {
	session := s.session(c)
	command, err := s.lookup(c, session, true)
	if err != nil {
		return err
	}
	request, err := putOptions(c, command.Path)
	if err != nil {
		return err
	}
	switch body := c.Body(); {
	case command.Argument != nil:
		if request.Value, err = valueFromBody(c, command.Argument); err != nil {
			return refused(err, command.Path)
		}
	case len(body) > 0 && string(body) != "{}" && string(body) != "null":
		return refused(gateway.Errorf(gateway.KindWrongType, "the command takes no argument"), command.Path)
	}
	pending, err := session.Execute(request)
	return s.answerVerdict(c, command, pending, err)
}

func (s *Server) listDevices(c *fiber.Ctx) error {
	body := []byte(`{"devices":[`)
	for i, device := range s.session(c).Devices() {
		if i > 0 {
			body = append(body, ',')
		}
		var err error
		if body, err = appendDevice(body, device); err != nil {
			return err
		}
	}
	return sendJSON(c, fiber.StatusOK, append(body, `]}`...))
}

func (s *Server) getDevice(c *fiber.Ctx) error {
	name := copyOf(c.Params("name"))
	for _, device := range s.session(c).Devices() {
		if device.Name == name {
			body, err := appendDevice(nil, device)
			if err != nil {
				return err
			}
			return sendJSON(c, fiber.StatusOK, body)
		}
	}
	return gateway.Errorf(gateway.KindNotFound, "there is no device %q", gateway.Quotable(name))
}
