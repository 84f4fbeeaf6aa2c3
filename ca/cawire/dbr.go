package cawire

// AppendDBR appends the payload of a reply, an event or a write: what type t
// says about a channel, then count elements of its value, then zeros up to a
// multiple of 8. If v has fewer elements the rest are zeros, as in base, and if
// it has more they are left out; so count must have been checked against what
// the channel can have before it comes here. m may be nil for a type that
// carries nothing but the value.
//
// Texts are cut to what their fields hold, NUL included, between characters of
// UTF-8, and states to the first 16.
//
// The payload depends on nothing but the arguments, so it can be made once and
// sent to many, each time behind a header of its own.
func AppendDBR(dst []byte, t Type, count uint32, m *Meta, v *Values) ([]byte, error) {
	if !t.Valid() {
		return dst, ErrBadType
	}
	size := t.Size(count)
	if size > maxPayload || int64(int(size)) != size {
		return dst, ErrTooLarge
	}
	start := len(dst)
	if m == nil {
		m = &Meta{}
	}
	dst = m.append(dst, t)
	dst = v.append(dst, t.Native(), int(count))
	return appendZeros(dst, Pad(int(size))-(len(dst)-start)), nil
}

// DecodeDBR reads a payload that AppendDBR or a peer has made. It fails with
// ErrBadType if there is no such type, and with ErrShortPayload if the payload
// does not hold count elements; only a single DBRString may be shorter, because
// peers cut it behind its NUL. What follows the elements is not looked at.
//
// Of m only the fields that t carries are set, and of v only the slice of its
// native type; both reuse what they have, so decoding into the same ones again
// allocates nothing but new texts. Either may be nil.
func DecodeDBR(t Type, count uint32, payload []byte, m *Meta, v *Values) error {
	if !t.Valid() {
		return ErrBadType
	}
	cut := t == DBRString && count == 1 && len(payload) > 0
	if int64(len(payload)) < t.Size(count) && !cut {
		return ErrShortPayload
	}
	if m != nil {
		r := reader{buf: payload}
		if m.decode(&r, t); r.err != nil {
			return r.err
		}
	}
	if v != nil {
		v.decode(payload[t.ValueOffset():], t.Native(), int(count))
	}
	return nil
}
