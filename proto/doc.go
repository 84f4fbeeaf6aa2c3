// Package proto turns the nouns of package gateway into the protobuf messages
// of proto/polygate/v1 and back. It is the edge: generated types never travel
// inside the program.
//
// It reads and writes the wire format itself, because every sample of every
// device passes here: an update goes from the wire straight into the slices that
// the hub keeps, without a tree of generated messages in between. Tests hold it
// equal to the generated code in both directions.
//
// Append functions fail only for text that is not valid UTF-8, which no other
// protobuf implementation would read. What a Decoder accepts is complete and
// within the bounds of limits.go, so that its users need no further checks.
package proto
