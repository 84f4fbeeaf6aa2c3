package e2e

import (
	"testing"

	"github.com/polygate/gateway/e2e/client"
)

// Whoever puts, all see the same samples: value, time and sequence number.
func TestEveryProtocolSeesOnePut(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	views := s.clients.watchAll(frontendsName, held)
	for _, v := range views {
		v.await(held, readback, "0", holds(0))
	}
	for i, protocol := range client.Protocols() {
		value := int64(100 + i)
		if verdict := s.clients.put(protocol, frontendsName, held, value); !verdict.OK() || verdict.Stage != "verified" && protocol != client.CA {
			t.Errorf("%s: a put ended as %+v", protocol, verdict)
		}
		for _, role := range []string{readback, setpoint} {
			first := views[0].await(held, role, "what was put", holds(value))
			for _, v := range views[1:] {
				seen := v.await(held, role, "what was put", holds(value))
				if seen.Time != first.Time || v.protocol != client.CA && seen.Seq != first.Seq {
					t.Errorf("put by %s: the %s is %v at %d by %s, and %v at %d by %s",
						protocol, role, &first, first.Time, views[0].protocol, &seen, seen.Time, v.protocol)
				}
			}
		}
	}
}
