package describe

import (
	"math"

	"go.yaml.in/yaml/v4"

	"github.com/polygate/gateway"
)

// An Initial is a value in the file: a scalar, or a list of scalars for an
// array. Bytes are written as base64, enums as label or index.
type Initial struct {
	node *yaml.Node
}

// UnmarshalYAML keeps the node; the attribute's type says what it means.
func (v *Initial) UnmarshalYAML(n *yaml.Node) error {
	v.node = n
	return nil
}

// Given reports whether the file gives a value.
func (v Initial) Given() bool { return v.node != nil }

// Of makes a value of the type, or the type's zero where none is given.
func (v Initial) Of(t *gateway.Type) (gateway.Value, error) {
	switch {
	case v.node == nil:
		return zeroOf(t)
	case v.node.Kind == yaml.ScalarNode && !t.IsArray() && t.Kind != gateway.Bytes:
		return t.Parse(v.node.Value)
	case v.node.Kind == yaml.ScalarNode:
		return t.ParseJSON(gateway.AppendJSONString(nil, v.node.Value))
	case v.node.Kind == yaml.SequenceNode:
		json, err := appendList(nil, v.node)
		if err != nil {
			return gateway.Value{}, err
		}
		return t.ParseJSON(json)
	}
	return gateway.Value{}, gateway.Errorf(gateway.KindWrongType, "want a value or a list of values")
}

// appendList writes nested lists as JSON, every scalar as text: the type
// reads numbers from text as well, with all their digits.
func appendList(dst []byte, n *yaml.Node) ([]byte, error) {
	dst = append(dst, '[')
	for i, item := range n.Content {
		if i > 0 {
			dst = append(dst, ',')
		}
		switch item.Kind {
		case yaml.ScalarNode:
			dst = gateway.AppendJSONString(dst, item.Value)
		case yaml.SequenceNode:
			var err error
			if dst, err = appendList(dst, item); err != nil {
				return nil, err
			}
		default:
			return nil, gateway.Errorf(gateway.KindWrongType, "want a value or a list of values")
		}
	}
	return append(dst, ']'), nil
}

// zeroOf returns 0, false, an empty text, an empty array or the first state.
// Where limits forbid 0, the limit nearest to it is taken.
func zeroOf(t *gateway.Type) (gateway.Value, error) {
	if t.IsArray() {
		return t.ParseJSON([]byte("[]"))
	}
	switch {
	case t.Kind == gateway.String || t.Kind == gateway.Bytes:
		return t.Parse("")
	case t.Kind == gateway.Enum:
		return gateway.EnumOf(0), nil
	}
	return t.FromFloat(min(max(0, t.Control.Low.Or(0)), t.Control.High.Or(math.Inf(1))))
}
