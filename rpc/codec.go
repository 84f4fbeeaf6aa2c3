package rpc

import (
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// A frame is a message that is encoded already, in parts that are sent one
// behind the other and must not be changed afterwards.
type frame [][]byte

// codec is gRPC's own for protobuf, that also takes frames.
type codec struct{ encoding.CodecV2 }

func newCodec() codec { return codec{encoding.GetCodecV2(proto.Name)} }

// Marshal implements encoding.CodecV2.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	f, ok := v.(frame)
	if !ok {
		return c.CodecV2.Marshal(v)
	}
	parts := make(mem.BufferSlice, len(f))
	for i, part := range f {
		parts[i] = mem.SliceBuffer(part)
	}
	return parts, nil
}
