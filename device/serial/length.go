package serial

import (
	"bytes"
	"encoding/binary"

	"go.yaml.in/yaml/v4"

	"github.com/polygate/gateway/device/describe"
)

// A Length is how long replies are that have no terminator: a number of bytes,
// or what the reply itself says in its first bytes. With {at: 2, plus: 5} the
// byte behind the first two says how many come beside five others.
type Length struct {
	// Fixed is the length of all replies.
	Fixed int `yaml:"fixed" json:"fixed,omitempty"`
	// At is where the number stands, counted from 0, and Size of how many bytes
	// it is: 1 (default), 2 or 4, the most significant first unless Little is set.
	At     *int `yaml:"at" json:"at,omitempty"`
	Size   int  `yaml:"size" json:"size,omitempty"`
	Little bool `yaml:"little" json:"little,omitempty"`
	// The whole reply is Scale (default 1) times the number plus Plus bytes.
	Scale int `yaml:"scale" json:"scale,omitempty"`
	Plus  int `yaml:"plus" json:"plus,omitempty"`
	// Start is what every reply begins with. Bytes in front of it are dropped,
	// which brings a reader that began in the middle back in step.
	Start string `yaml:"start" json:"start,omitempty"`
}

// UnmarshalYAML takes a number, or a mapping.
func (l *Length) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		return n.Load(&l.Fixed)
	}
	type plain Length
	return n.Load((*plain)(l))
}

// compile reports mistakes and returns the sizing.
func (l *Length) compile(at describe.Place) sizing {
	s := sizing{fixed: l.Fixed, size: l.Size, little: l.Little, scale: l.Scale, plus: l.Plus}
	if l.Start != "" {
		s.start = literal(l.Start, "what replies begin with", at.In("start"))
	}
	if l.Fixed < 0 || l.Fixed > maxFrame {
		at.Errorf("%d bytes: want 1 to %d", l.Fixed, maxFrame)
	}
	if l.Fixed > 0 && l.Fixed < len(s.start) {
		at.Errorf("%d bytes are less than what replies begin with", l.Fixed)
	}
	if l.At == nil {
		if l.Size != 0 || l.Little || l.Scale != 0 || l.Plus != 0 || len(s.start) > 0 && l.Fixed == 0 {
			at.Errorf("where does the length stand? write at: 2, or fixed: 20")
		}
		return s
	}
	s.counted, s.at = true, *l.At
	if s.size == 0 {
		s.size = 1
	}
	if s.scale == 0 {
		s.scale = 1
	}
	switch {
	case l.Fixed != 0:
		at.Errorf("a length is fixed or stands in the reply, not both")
	case s.at < 0 || s.at > maxHead:
		at.In("at").Errorf("%d: want 0 to %d", s.at, maxHead)
	case s.size != 1 && s.size != 2 && s.size != 4:
		at.In("size").Errorf("%d bytes: want 1, 2 or 4", s.size)
	case s.scale < 1 || s.scale > maxHead:
		at.In("scale").Errorf("%d: want 1 to %d", s.scale, maxHead)
	case s.plus < -maxHead || s.plus > maxFrame:
		at.In("plus").Errorf("%d: want %d to %d", s.plus, -maxHead, maxFrame)
	}
	return s
}

// maxHead bounds where a length stands, and its scale.
const maxHead = 1024

// A sizing says where a reply ends that has no terminator. The zero sizing does not.
type sizing struct {
	start   []byte
	fixed   int
	counted bool // the length stands in the reply
	at      int
	size    int
	little  bool
	scale   int
	plus    int
}

// sized reports whether it says anything.
func (s *sizing) sized() bool { return s.fixed > 0 || s.counted }

// length returns how long the line is that begins with b: 0 while that is not
// known yet, and -1 if no line begins so.
func (s *sizing) length(b []byte) int {
	if !s.counted {
		return s.fixed
	}
	head := s.at + s.size
	if len(b) < head {
		return 0
	}
	var order binary.ByteOrder = binary.BigEndian
	if s.little {
		order = binary.LittleEndian
	}
	var n int64
	switch b = b[s.at:head]; s.size {
	case 1:
		n = int64(b[0])
	case 2:
		n = int64(order.Uint16(b))
	default:
		n = int64(order.Uint32(b))
	}
	n = n*int64(s.scale) + int64(s.plus)
	if n < int64(max(head, len(s.start))) || n > maxFrame {
		return -1
	}
	return int(n)
}

// noise returns how many bytes of b stand in front of what may become a line.
func (s *sizing) noise(b []byte) int {
	if i := bytes.Index(b, s.start); i >= 0 {
		return i
	}
	for n := min(len(s.start)-1, len(b)); n > 0; n-- {
		if bytes.HasSuffix(b, s.start[:n]) {
			return len(b) - n
		}
	}
	return len(b)
}
