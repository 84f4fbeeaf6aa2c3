package proto

import (
	"errors"
	"fmt"

	"github.com/polygate/gateway"
)

// AppendUpdate appends an Update.
func AppendUpdate(dst []byte, u *gateway.Update) ([]byte, error) {
	dst, err := AppendUpdateHead(dst, u)
	if err != nil {
		return dst, err
	}
	for i := range u.Samples {
		if dst, err = AppendUpdateSample(dst, &u.Samples[i]); err != nil {
			return dst, fmt.Errorf("sample of attribute %d: %w", u.Samples[i].Index, err)
		}
	}
	return dst, nil
}

// AppendUpdateHead appends an Update without its samples. Samples may follow, so
// that a sender can divide an update that is too large for one message.
func AppendUpdateHead(dst []byte, u *gateway.Update) ([]byte, error) {
	w := writer{b: dst}
	w.owner(1, &u.Owner)
	w.varint(2, u.Revision)
	return w.b, w.err
}

// AppendUpdateSample appends one sample to an Update.
func AppendUpdateSample(dst []byte, s *gateway.SampleUpdate) ([]byte, error) {
	w := writer{b: dst}
	guess := short
	if s.Sample != nil {
		guess += s.Sample.Value.Size()
	}
	m := w.begin(3, guess)
	w.varint(1, uint64(s.Index))
	w.varint(2, uint64(s.Role))
	w.sample(3, s.Sample)
	w.putID(4, s.Accepts)
	w.end(m)
	return w.b, w.err
}

// single holds an update of one sample, the most frequent one, in one piece of memory.
type single struct {
	update  gateway.Update
	entries [1]gateway.SampleUpdate
	samples [1]gateway.Sample
}

// Update decodes an Update. Every entry has a sample and exactly one role. The
// samples of one update share one piece of memory.
func (d *Decoder) Update(b []byte) (*gateway.Update, error) {
	r := reader{b: b}
	u, samples, err := newUpdate(r.count(3<<3 | lenType))
	if err != nil {
		return nil, fmt.Errorf("decoding an update: %w", err)
	}
	for key := r.next(); key != 0; key = r.next() {
		switch key {
		case 1<<3 | lenType:
			r.fail(d.owner(r.bytes(), &u.Owner))
		case 2<<3 | varintType:
			u.Revision = r.varint()
		case 3<<3 | lenType:
			i := len(u.Samples)
			u.Samples = u.Samples[:i+1]
			if err := d.sampleUpdate(r.bytes(), &u.Samples[i], &samples[i]); err != nil {
				r.fail(fmt.Errorf("sample %d: %w", i, err))
			}
		default:
			r.skip(key)
		}
	}
	r.fail(checkOwner(&u.Owner))
	if r.err != nil {
		return nil, fmt.Errorf("decoding an update: %w", r.err)
	}
	return u, nil
}

// newUpdate makes an update with room for n entries, and their samples.
func newUpdate(n int) (*gateway.Update, []gateway.Sample, error) {
	switch {
	case n > MaxSamples:
		return nil, nil, fmt.Errorf("%d samples are more than %d", n, MaxSamples)
	case n == 1:
		one := new(single)
		one.update.Samples = one.entries[:0]
		return &one.update, one.samples[:], nil
	default:
		return &gateway.Update{Samples: make([]gateway.SampleUpdate, 0, n)}, make([]gateway.Sample, n), nil
	}
}

var (
	errNoSample = errors.New("there is no sample")
	errRole     = errors.New("the role is neither readback nor setpoint")
)

func (d *Decoder) sampleUpdate(b []byte, entry *gateway.SampleUpdate, sample *gateway.Sample) error {
	r := reader{b: b}
	for key := r.next(); key != 0; key = r.next() {
		switch key {
		case 1<<3 | varintType:
			entry.Index = r.index()
		case 2<<3 | varintType:
			entry.Role = gateway.Role(max(r.enum(int32(gateway.Setpoint)), 0))
		case 3<<3 | lenType:
			entry.Sample = sample
			r.fail(d.sample(r.bytes(), sample))
		case 4<<3 | lenType:
			r.fail(putID(r.bytes(), &entry.Accepts))
		default:
			r.skip(key)
		}
	}
	switch {
	case r.err != nil:
		return r.err
	case entry.Sample == nil:
		return errNoSample
	case entry.Role != gateway.Readback && entry.Role != gateway.Setpoint:
		return errRole
	}
	return nil
}
