package device

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/polygate/gateway"
)

// TestPutQueueAgainstModel compares the queue with a list that applies the
// rules one by one, in the simplest way.
func TestPutQueueAgainstModel(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		var queue putQueue
		var model []*queued // in the order of arrival; a replaced put's place is its successor's
		now := noon
		for step := range 200 {
			switch n := random.IntN(10); {
			case n < 6:
				p := &queued{Put: new(gateway.Put), index: random.IntN(3)}
				p.Value = gateway.Of("value")
				p.Urgent, p.Refresh = random.IntN(4) == 0, random.IntN(3) == 0
				if random.IntN(2) == 0 {
					p.Mode = gateway.Latest
				}
				p.deadline = now.Add(time.Duration(1+random.IntN(20)) * time.Second)
				superseded := queue.supersededBy(p)
				queue.push(p, superseded)
				var want []*queued
				model, want = modelPush(model, p)
				sameSet(t, seed, step, "superseded", superseded, want)
			case n < 9:
				got := queue.pop()
				var want *queued
				if i := slices.IndexFunc(model, func(p *queued) bool { return p.Urgent }); i >= 0 {
					want = model[i]
					model = slices.Delete(model, i, i+1)
				} else if len(model) > 0 {
					want, model = model[0], model[1:]
				}
				if got != want {
					t.Fatalf("seed %d step %d: popped %+v, want %+v", seed, step, got, want)
				}
			default:
				now = now.Add(3 * time.Second)
				expired, next := queue.expire(now)
				var want []*queued
				var earliest time.Time
				model = slices.DeleteFunc(model, func(p *queued) bool {
					if !p.deadline.After(now) {
						want = append(want, p)
						return true
					}
					if earliest.IsZero() || p.deadline.Before(earliest) {
						earliest = p.deadline
					}
					return false
				})
				sameSet(t, seed, step, "expired", expired, want)
				if !next.Equal(earliest) {
					t.Fatalf("seed %d step %d: next deadline %v, want %v", seed, step, next, earliest)
				}
			}
			if queue.len() != len(model) || queue.bytes != len(model)*len("value") {
				t.Fatalf("seed %d step %d: %d puts of %d bytes, want %d puts", seed, step, queue.len(), queue.bytes, len(model))
			}
		}
		if left := queue.clear(); len(left) != len(model) || queue.len() != 0 || queue.bytes != 0 {
			t.Fatalf("seed %d: cleared %d, want %d", seed, len(left), len(model))
		}
	}
}

func modelPush(model []*queued, p *queued) (after, superseded []*queued) {
	// An urgent put replaces every `latest` of its attribute that is not urgent.
	if p.Urgent {
		model = slices.DeleteFunc(model, func(q *queued) bool {
			if q.index == p.index && !q.Urgent && q.Mode == gateway.Latest && q.Refresh == p.Refresh {
				superseded = append(superseded, q)
				return true
			}
			return false
		})
	}
	// A `latest` one takes the place of the one behind the last `each`. Puts do
	// not see refreshes; a refresh stays behind the puts before it.
	if p.Mode == gateway.Latest {
		last := -1
		for i, q := range model {
			if q.index == p.index && q.Urgent == p.Urgent && (p.Refresh || !q.Refresh) {
				last = i
			}
		}
		if last >= 0 && model[last].Mode == gateway.Latest && model[last].Refresh == p.Refresh {
			superseded = append(superseded, model[last])
			model[last] = p
			return model, superseded
		}
	}
	return append(model, p), superseded
}

func sameSet(t *testing.T, seed uint64, step int, what string, got, want []*queued) {
	t.Helper()
	same := len(got) == len(want)
	for _, p := range want {
		same = same && slices.Contains(got, p)
	}
	if !same {
		t.Fatalf("seed %d step %d: %s %d puts, want %d", seed, step, what, len(got), len(want))
	}
}
