package rpc

import (
	"sync"
	"weak"

	"github.com/polygate/gateway"
	wire "github.com/polygate/gateway/proto"
)

// shared has the newest encodings of large samples, so that one that many
// clients watch is encoded once. Small ones are cheaper to encode than to find.
// An encoding lives until the garbage collector comes by, which is long enough
// for all clients to send it, and costs nothing afterwards.
type shared struct {
	newest sync.Map // of sharedKey to weak.Pointer[encoded]
}

type sharedKey struct {
	path gateway.Path
	role gateway.Role
}

type encoded struct {
	of   *gateway.Attribute // a snapshot, which is never changed
	body []byte             // an event of a WatchResponse
}

// large reports whether an event is one to share: that of a large sample, as
// every client gets it that keeps up.
func large(e *gateway.Event) bool {
	if e.Type != gateway.EventSample || e.Lost != 0 {
		return false
	}
	sample := e.Sample()
	return sample.Value.Size() >= shareFrom && sample.Mask == e.Mask
}

// event returns the encoding of a large event, which must not be changed.
func (s *shared) event(e *gateway.Event) ([]byte, error) {
	key := sharedKey{e.Attribute.Path, e.Role}
	if known, ok := s.newest.Load(key); ok {
		pointer, _ := known.(weak.Pointer[encoded])
		if found := pointer.Value(); found != nil && found.of == e.Attribute {
			return found.body, nil
		}
	}
	body, err := wire.AppendEvent(make([]byte, 0, e.Sample().Value.Size()+minBatch), e, false)
	if err != nil {
		return nil, err
	}
	s.newest.Store(key, weak.Make(&encoded{e.Attribute, body}))
	return body, nil
}

// forget drops what is kept of an attribute that no longer exists.
func (s *shared) forget(path gateway.Path) {
	s.newest.Delete(sharedKey{path, gateway.Readback})
	s.newest.Delete(sharedKey{path, gateway.Setpoint})
}
