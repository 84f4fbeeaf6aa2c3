package api

import (
	"encoding/json"

	"github.com/gofiber/fiber/v2"

	"github.com/polygate/gateway"
)

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
	return sendJSON(c, append(body, `]}`...))
}

func (s *Server) getDevice(c *fiber.Ctx) error {
	name := c.Params("name")
	for _, device := range s.session(c).Devices() {
		if device.Name == name {
			body, err := appendDevice(nil, device)
			if err != nil {
				return err
			}
			return sendJSON(c, body)
		}
	}
	return gateway.Errorf(gateway.KindNotFound, "there is no device %q", gateway.Quotable(copyOf(name)))
}

func appendDevice(dst []byte, d *gateway.Device) ([]byte, error) {
	data, err := json.Marshal(struct {
		Name        string            `json:"name"`
		Description string            `json:"description,omitempty"`
		Driver      string            `json:"driver"`
		Link        string            `json:"link,omitempty"`
		State       string            `json:"state"`
		Since       json.RawMessage   `json:"since"`
		Words       string            `json:"words,omitempty"`
		Attributes  int               `json:"attributes"`
		Stale       int               `json:"stale"`
		Annotations map[string]string `json:"annotations,omitempty"`
	}{
		d.Name, d.Description, d.Driver, d.Link, d.Availability.String(), appendTime(nil, d.Since), d.Words,
		d.Attributes, d.Stale, d.Annotations,
	})
	return append(dst, data...), err
}
