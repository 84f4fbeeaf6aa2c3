package hubtest

import "github.com/polygate/gateway"

// Float returns the descriptor of a float64 attribute.
func Float(path gateway.Path, access gateway.Access) *gateway.Descriptor {
	return &gateway.Descriptor{Path: path, Traits: &gateway.Traits{Access: access, Type: gateway.Type{Kind: gateway.Float64}}}
}

// Command returns the descriptor of a command without argument.
func Command(path gateway.Path) *gateway.Descriptor {
	return &gateway.Descriptor{Path: path, Traits: &gateway.Traits{Access: gateway.AccessExecute, Type: gateway.Type{Kind: gateway.Bool}}}
}
