package stream

import "math/bits"

// algorithm is one checksum function.
type algorithm struct {
	names []string // as written in %<...>, case does not matter
	bytes int      // size of the result
	check uint32   // result for "123456789", the usual test vector
	// additive algorithms are plain sums: they can be negated (neg) and
	// reduced (mod N).
	additive bool
	// compute returns the result; for additive ones the whole sum, before it
	// is cut to its size.
	compute func(data []byte) uint64
}

// algorithms lists the checksums in the order of the documentation. The check
// values of the documented ones were compared with StreamDevice's own tests.
func algorithms() []algorithm {
	return []algorithm{
		{names: []string{"sum", "sum8"}, bytes: 1, check: 0xdd, additive: true, compute: sum},
		{names: []string{"sum16"}, bytes: 2, check: 0x01dd, additive: true, compute: sum},
		{names: []string{"sum32"}, bytes: 4, check: 0x01dd, additive: true, compute: sum},
		{names: []string{"xor", "xor8"}, bytes: 1, check: 0x31, compute: xor},
		{names: []string{"xor8ff"}, bytes: 1, check: 0xce, compute: func(d []byte) uint64 { return xor(d) ^ 0xff }},
		{names: []string{"xor7"}, bytes: 1, check: 0x31, compute: func(d []byte) uint64 { return xor(d) & 0x7f }},
		{names: []string{"crc8"}, bytes: 1, check: 0xf4, compute: crc{width: 8, poly: 0x07}.sum},
		{names: []string{"ccitt8"}, bytes: 1, check: 0xa1, compute: crc{width: 8, poly: 0x31, reflected: true}.sum},
		{names: []string{"crc16"}, bytes: 2, check: 0xfee8, compute: crc{width: 16, poly: 0x8005}.sum},
		{names: []string{"crc16r"}, bytes: 2, check: 0xbb3d, compute: crc{width: 16, poly: 0x8005, reflected: true}.sum},
		{names: []string{"modbus"}, bytes: 2, check: 0x4b37, compute: crc{width: 16, poly: 0x8005, init: 0xffff, reflected: true}.sum},
		{names: []string{"ccitt16"}, bytes: 2, check: 0x29b1, compute: crc{width: 16, poly: 0x1021, init: 0xffff}.sum},
		{names: []string{"ccitt16a"}, bytes: 2, check: 0xe5cc, compute: crc{width: 16, poly: 0x1021, init: 0x1d0f}.sum},
		{names: []string{"ccitt16x", "crc16c", "xmodem"}, bytes: 2, check: 0x31c3, compute: crc{width: 16, poly: 0x1021}.sum},
		{names: []string{"crc32"}, bytes: 4, check: 0xfc891918, compute: crc{width: 32, poly: 0x04c11db7, init: 0xffffffff, xorout: 0xffffffff}.sum},
		{names: []string{"crc32r"}, bytes: 4, check: 0xcbf43926, compute: crc{width: 32, poly: 0x04c11db7, init: 0xffffffff, xorout: 0xffffffff, reflected: true}.sum},
		{names: []string{"jamcrc"}, bytes: 4, check: 0x340bc6d9, compute: crc{width: 32, poly: 0x04c11db7, init: 0xffffffff, reflected: true}.sum},
		{names: []string{"adler32"}, bytes: 4, check: 0x091e01de, compute: adler},
		{names: []string{"hexsum8"}, bytes: 1, check: 0x2d, additive: true, compute: hexSum},
		{names: []string{"lrc"}, bytes: 1, check: 0x23, compute: func(d []byte) uint64 { return -sum(d) & 0xff }},
		{names: []string{"hexlrc"}, bytes: 1, check: 0xa7, compute: hexLRC},
		{names: []string{"leybold"}, bytes: 1, check: 0x22, compute: leybold},
		{names: []string{"brksCryo"}, bytes: 1, check: 0x4a, compute: brooks},
		{names: []string{"cpi"}, bytes: 1, check: 0x7e, compute: cpi},
		{names: []string{"bitsum", "bitsum8"}, bytes: 1, check: 0x21, additive: true, compute: bitSum},
		{names: []string{"bitsum16"}, bytes: 2, check: 0x21, additive: true, compute: bitSum},
		{names: []string{"bitsum32"}, bytes: 4, check: 0x21, additive: true, compute: bitSum},
		{names: []string{"hv_mps"}, bytes: 1, check: 0x63, compute: func(d []byte) uint64 { return ^(sum(d)+0xff)&0x7f | 0x40 }},
	}
}

func sum(data []byte) (n uint64) {
	for _, b := range data {
		n += uint64(b)
	}
	return n
}

func xor(data []byte) (n uint64) {
	for _, b := range data {
		n ^= uint64(b)
	}
	return n
}

// bitSum counts the 1 bits.
func bitSum(data []byte) (n uint64) {
	for _, b := range data {
		n += uint64(bits.OnesCount8(b))
	}
	return n
}

// hexSum adds the values of all hexadecimal digits and ignores other bytes.
func hexSum(data []byte) (n uint64) {
	for _, b := range data {
		if d := digit(b); d < 16 {
			n += uint64(d)
		}
	}
	return n
}

// hexLRC is the negative sum of bytes that are written as two hexadecimal
// digits. Which digit is the upper one is counted from the end, and other
// bytes count as places but not as values, exactly as in StreamDevice.
func hexLRC(data []byte) (n uint64) {
	var upper uint64
	for i, b := range data {
		d := digit(b)
		switch {
		case d >= 16:
		case (len(data)-i)%2 == 0:
			upper = uint64(d) << 4
		default:
			n += uint64(d) + upper
			upper = 0
		}
	}
	return -n & 0xff
}

// leybold: 255 minus the sum modulo 256, plus 32 where that is a control
// character.
func leybold(data []byte) uint64 {
	n := ^sum(data) & 0xff
	if n < 32 {
		n += 32
	}
	return n
}

// brooks is for Brooks cryopumps: a sum of seven-bit characters folded to six
// bits, as a printable character.
func brooks(data []byte) (n uint64) {
	for _, b := range data {
		n += uint64(b & 0x7f)
	}
	return (n>>6^n)&0x3f + 0x30
}

// cpi is for CPI amplifiers: the sum of what printable characters exceed the
// blank by, modulo 95, as a printable character. It wraps at 32 bits, which
// matters for control characters only.
func cpi(data []byte) uint64 {
	return uint64((uint32(sum(data))-uint32(len(data))<<5)%95 + 32)
}

// adler is the checksum of RFC 1950.
func adler(data []byte) uint64 {
	const modulus = 65521
	a, b := uint32(1), uint32(0)
	for _, c := range data {
		a = (a + uint32(c)) % modulus
		b = (b + a) % modulus
	}
	return uint64(b<<16 | a)
}

// crc holds the parameters of a cyclic redundancy check.
type crc struct {
	width        int
	poly         uint32
	init, xorout uint32
	reflected    bool
}

// sum computes bit by bit: messages of instruments are short.
func (c crc) sum(data []byte) uint64 {
	top := uint32(1) << (c.width - 1)
	mask := top | (top - 1)
	r := c.init
	for _, b := range data {
		if c.reflected {
			b = bits.Reverse8(b)
		}
		r ^= uint32(b) << (c.width - 8)
		for range 8 {
			if r&top != 0 {
				r = r<<1 ^ c.poly
			} else {
				r <<= 1
			}
		}
		r &= mask
	}
	if c.reflected {
		r = bits.Reverse32(r) >> (32 - c.width)
	}
	return uint64(r ^ c.xorout)
}
