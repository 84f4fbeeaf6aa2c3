package device

import (
	"hash/maphash"
	"reflect"

	"github.com/polygate/gateway"
)

// shareTraits makes descriptors whose traits are equal have the same ones: of a
// thousand channels most differ in their names alone.
func shareTraits(descriptors []gateway.Descriptor) {
	seed := maphash.MakeSeed()
	known := map[uint64][]*gateway.Traits{}
	for i := range descriptors {
		d := &descriptors[i]
		hash := hashTraits(seed, d.Traits)
		first := find(known[hash], d.Traits)
		if first == nil {
			known[hash] = append(known[hash], d.Traits)
			continue
		}
		d.Traits = first
	}
}

func find(among []*gateway.Traits, t *gateway.Traits) *gateway.Traits {
	for _, other := range among {
		if other == t || reflect.DeepEqual(other, t) {
			return other
		}
	}
	return nil
}

// hashTraits is the same for equal traits, and rarely for others.
func hashTraits(seed maphash.Seed, t *gateway.Traits) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	maphash.WriteComparable(&h, t.Access)
	maphash.WriteComparable(&h, t.Kind)
	maphash.WriteComparable(&h, t.Units)
	maphash.WriteComparable(&h, t.Precision)
	maphash.WriteComparable(&h, t.MaxLength)
	maphash.WriteComparable(&h, [...]gateway.Range{t.Control, t.Display})
	maphash.WriteComparable(&h, t.Alarm)
	maphash.WriteComparable(&h, [...]float64{t.Deadband, t.LogDeadband})
	maphash.WriteComparable(&h, t.Poll)
	for _, extent := range t.Shape {
		maphash.WriteComparable(&h, extent)
	}
	for _, state := range t.States {
		maphash.WriteComparable(&h, state)
	}
	return h.Sum64()
}
