package proto

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/polygate/gateway"
)

// AppendAnnouncement appends an Announcement.
func AppendAnnouncement(dst []byte, a *gateway.Announcement) ([]byte, error) {
	dst, err := AppendAnnouncementHead(dst, a)
	if err != nil {
		return dst, err
	}
	for i := range a.Attributes {
		if dst, err = AppendAnnounced(dst, &a.Attributes[i]); err != nil {
			return dst, fmt.Errorf("%s: %w", a.Attributes[i].Descriptor.Path, err)
		}
	}
	return dst, nil
}

// AppendAnnouncementHead appends an Announcement without its attributes. They
// may follow, so that a sender can divide an announcement into pieces.
func AppendAnnouncementHead(dst []byte, a *gateway.Announcement) ([]byte, error) {
	w := writer{b: dst}
	w.owner(1, &a.Owner)
	w.varint(2, a.Revision)
	w.varint(3, uint64(a.Piece))
	w.varint(4, uint64(a.Pieces))
	w.deviceInfo(5, &a.Info)
	m := w.begin(6, short)
	w.stateFields(&a.State)
	w.end(m)
	w.varint(7, uint64(a.Offset))
	return w.b, w.err
}

// AppendAnnounced appends one attribute to an Announcement.
func AppendAnnounced(dst []byte, a *gateway.Announced) ([]byte, error) {
	w := writer{b: dst}
	guess := 4 * short
	for _, s := range []*gateway.Sample{a.Readback, a.Setpoint} {
		if s != nil {
			guess += s.Value.Size()
		}
	}
	m := w.begin(8, guess)
	w.descriptor(1, a.Descriptor)
	w.sample(2, a.Readback)
	w.sample(3, a.Setpoint)
	w.end(m)
	return w.b, w.err
}

// Announcement decodes an Announcement. All of its attributes are of its
// device, have a complete descriptor and exactly the samples of their roles,
// whose values are of their kind.
func (d *Decoder) Announcement(b []byte) (*gateway.Announcement, error) {
	a := new(gateway.Announcement)
	r := reader{b: b}
	n := r.count(8<<3 | lenType)
	if n > MaxAttributes {
		return nil, fmt.Errorf("decoding an announcement: %d attributes are more than %d", n, MaxAttributes)
	}
	a.Attributes = make([]gateway.Announced, 0, n)
	known := knownTraits{}
	for key := r.next(); key != 0; key = r.next() {
		switch key {
		case 1<<3 | lenType:
			r.fail(d.owner(r.bytes(), &a.Owner))
		case 2<<3 | varintType:
			a.Revision = r.varint()
		case 3<<3 | varintType:
			a.Piece = int(r.index())
		case 4<<3 | varintType:
			a.Pieces = int(r.index())
		case 5<<3 | lenType:
			r.fail(d.deviceInfo(r.bytes(), &a.Info))
		case 6<<3 | lenType:
			r.fail(d.stateFields(r.bytes(), &a.State))
		case 7<<3 | varintType:
			a.Offset = r.index()
		case 8<<3 | lenType:
			var attribute gateway.Announced
			if err := d.announced(r.bytes(), &attribute, known); err != nil {
				r.fail(fmt.Errorf("attribute %d: %w", len(a.Attributes), err))
				break
			}
			a.Attributes = append(a.Attributes, attribute)
		default:
			r.skip(key)
		}
	}
	a.State.Owner, a.State.Revision = a.Owner, a.Revision
	if r.err == nil {
		r.err = checkAnnouncement(a)
	}
	if r.err != nil {
		return nil, fmt.Errorf("decoding an announcement: %w", r.err)
	}
	return a, nil
}

func checkAnnouncement(a *gateway.Announcement) error {
	if err := checkOwner(&a.Owner); err != nil {
		return err
	}
	if a.Pieces < 1 || a.Pieces > maxPieces || a.Piece >= a.Pieces {
		return fmt.Errorf("there is no piece %d of %d", a.Piece, a.Pieces)
	}
	for i := range a.Attributes {
		if path := a.Attributes[i].Descriptor.Path; path.Device() != a.Device {
			return fmt.Errorf("%s is not of device %s", path, a.Device)
		}
	}
	return nil
}

var errNoDescriptor = errors.New("there is no descriptor")

func (d *Decoder) announced(b []byte, a *gateway.Announced, known knownTraits) error {
	var descriptor []byte
	r := reader{b: b}
	for key := r.next(); key != 0; key = r.next() {
		switch key {
		case 1<<3 | lenType:
			descriptor = join(descriptor, r.bytes())
		case 2<<3 | lenType:
			d.newSample(&r, &a.Readback)
		case 3<<3 | lenType:
			d.newSample(&r, &a.Setpoint)
		default:
			r.skip(key)
		}
	}
	switch {
	case r.err != nil:
		return r.err
	case descriptor == nil:
		return errNoDescriptor
	}
	var err error
	if a.Descriptor, err = d.descriptor(descriptor, known); err != nil {
		return err
	}
	if err := checkRole(a.Descriptor, gateway.Readback, a.Readback); err != nil {
		return err
	}
	return checkRole(a.Descriptor, gateway.Setpoint, a.Setpoint)
}

// join merges a message that comes again, as protobuf asks.
func join(before, b []byte) []byte {
	if before == nil {
		return b
	}
	return slices.Concat(before, b)
}

func checkRole(d *gateway.Descriptor, role gateway.Role, s *gateway.Sample) error {
	if has := d.Roles()&role != 0; has != (s != nil) {
		return fmt.Errorf("%s (%s): a sample as %s is missing, or one too many", d.Path, d.Access, role)
	}
	if s == nil || !s.Value.Known() {
		return nil
	}
	if s.Value.Kind() != d.Kind || s.Value.IsArray() != d.IsArray() {
		return fmt.Errorf("%s: the value of the %s is of another type", d.Path, role)
	}
	return nil
}

func (w *writer) deviceInfo(num uint64, info *gateway.DeviceInfo) {
	m := w.begin(num, 2*short)
	w.text(1, info.Description)
	w.text(2, info.Driver)
	w.text(3, info.Link)
	w.annotations(4, info.Annotations)
	w.end(m)
}

func (d *Decoder) deviceInfo(b []byte, info *gateway.DeviceInfo) error {
	r := reader{b: b}
	for key := r.next(); key != 0; key = r.next() {
		switch key {
		case 1<<3 | lenType:
			info.Description = r.text()
		case 2<<3 | lenType:
			info.Driver = d.again(&r)
		case 3<<3 | lenType:
			info.Link = r.text()
		case 4<<3 | lenType:
			info.Annotations = d.annotation(&r, info.Annotations)
		default:
			r.skip(key)
		}
	}
	return r.err
}

// AppendDeviceState appends a DeviceState.
func AppendDeviceState(dst []byte, s *gateway.DeviceState) ([]byte, error) {
	w := writer{b: dst}
	w.owner(1, &s.Owner)
	w.varint(2, s.Revision)
	w.stateFields(s)
	return w.b, w.err
}

// stateFields writes what a state in an announcement has, too.
func (w *writer) stateFields(s *gateway.DeviceState) {
	w.bool(3, s.Connected)
	w.time(4, s.Since)
	w.text(5, s.Words)
	if len(s.Stale) > 0 {
		packed := w.begin(6, 2*len(s.Stale))
		for _, index := range s.Stale {
			w.b = protowire.AppendVarint(w.b, uint64(index))
		}
		w.end(packed)
	}
	w.bool(7, s.Leaving)
	w.varint(8, uint64(s.Clock))
}

// DeviceState decodes a DeviceState.
func (d *Decoder) DeviceState(b []byte) (*gateway.DeviceState, error) {
	s := new(gateway.DeviceState)
	err := d.stateFields(b, s)
	if err == nil {
		err = checkOwner(&s.Owner)
	}
	if err != nil {
		return nil, fmt.Errorf("decoding a device state: %w", err)
	}
	return s, nil
}

func (d *Decoder) stateFields(b []byte, s *gateway.DeviceState) error {
	r := reader{b: b}
	for key := r.next(); key != 0; key = r.next() {
		switch key {
		case 1<<3 | lenType:
			r.fail(d.owner(r.bytes(), &s.Owner))
		case 2<<3 | varintType:
			s.Revision = r.varint()
		case 3<<3 | varintType:
			s.Connected = r.bool()
		case 4<<3 | fixed64Type:
			s.Since = r.time()
		case 5<<3 | lenType:
			s.Words = d.again(&r)
		case 6<<3 | lenType:
			packed := reader{b: r.bytes()}
			s.Stale = grow(s.Stale, countVarints(packed.b))
			for packed.more() {
				s.Stale = append(s.Stale, packed.index())
			}
			r.fail(packed.err)
		case 6<<3 | varintType:
			s.Stale = append(s.Stale, r.index())
		case 7<<3 | varintType:
			s.Leaving = r.bool()
		case 8<<3 | varintType:
			s.Clock = time.Duration(r.varint())
		default:
			r.skip(key)
		}
	}
	return r.err
}
