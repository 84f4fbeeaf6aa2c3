package modbus_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/polygate/gateway/device/modbus/pdu"
)

// A slave is a unit, or several on one line, that answers on a byte stream and
// misbehaves on request. It is written from the specification, and uses of pdu
// only what appends a frame.
type slave struct {
	overTCP bool

	mu       sync.Mutex
	units    map[byte]*tables
	silent   bool
	faults   []fault
	held     [][]byte
	out      io.Writer
	requests []string // PDUs in hex, with the unit in front
}

// tables are what one unit holds. An address that is absent does not exist.
type tables struct {
	bits   map[pdu.Function]map[int]bool   // by the function that reads them
	words  map[pdu.Function]map[int]uint16 // by the function that reads them
	says   map[byte]pdu.Exception          // to a function, whatever it asks
	fixed  map[int]bool                    // holding registers that cannot be written
	limit  uint16                          // the most that function 6 writes, without a word; 0 is any
	writes int
}

// A fault is how one reply is spoiled: what goes out now, and what is held back
// until the next request has come.
type fault func(reply []byte) (now, held []byte)

func newSlave(overTCP bool, units ...byte) *slave {
	s := &slave{overTCP: overTCP, units: map[byte]*tables{}}
	for _, u := range units {
		s.units[u] = &tables{
			bits:  map[pdu.Function]map[int]bool{1: {}, 2: {}},
			words: map[pdu.Function]map[int]uint16{3: {}, 4: {}},
			says:  map[byte]pdu.Exception{}, fixed: map[int]bool{},
		}
	}
	return s
}

// holds sets registers of a unit from an address on.
func (s *slave) holds(unit byte, table pdu.Function, address int, words ...uint16) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, w := range words {
		s.units[unit].words[table][address+i] = w
	}
}

// holdsBits is holds for coils and discrete inputs.
func (s *slave) holdsBits(unit byte, table pdu.Function, address int, bits ...bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, b := range bits {
		s.units[unit].bits[table][address+i] = b
	}
}

// word returns a holding register.
func (s *slave) word(unit byte, address int) uint16 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.units[unit].words[3][address]
}

func (s *slave) touch(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *slave) spoil(faults ...fault) { s.touch(func() { s.faults = append(s.faults, faults...) }) }

// written returns how often a unit was written to.
func (s *slave) written(unit byte) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.units[unit].writes
}

// asked returns the requests so far, and forgets them.
func (s *slave) asked() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := strings.Join(s.requests, " ")
	s.requests = nil
	return all
}

// accept serves one connection after the other.
func (s *slave) accept(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		s.serve(conn)
		_ = conn.Close() // it has ended
	}
}

// release sends what is held back.
func (s *slave) release() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.out.Write(bytes.Join(s.held, nil))
	s.held = nil
	return err
}

// serve answers until the stream ends.
func (s *slave) serve(stream io.ReadWriter) {
	s.touch(func() { s.out = stream })
	var in []byte
	chunk := make([]byte, 512)
	for {
		n, err := stream.Read(chunk)
		if err != nil {
			return
		}
		in = append(in, chunk[:n]...)
		for {
			n := s.requestLength(in)
			if n == 0 || n > len(in) {
				break
			}
			out := s.take(in[:n])
			in = in[n:]
			if len(out) > 0 {
				if _, err := stream.Write(out); err != nil {
					return
				}
			}
		}
	}
}

// requestLength returns the length of the frame that b begins with, or 0.
func (s *slave) requestLength(b []byte) int {
	switch {
	case len(b) < 8:
		return 0
	case s.overTCP:
		return 6 + int(binary.BigEndian.Uint16(b[4:]))
	}
	switch b[1] {
	case 15, 16:
		return 9 + int(b[6])
	case 22:
		return 10
	}
	return 8
}

// take does what a frame asks and returns what goes out.
func (s *slave) take(frame []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := bytes.Join(s.held, nil)
	s.held = nil
	var unit byte
	var request, reply []byte
	if s.overTCP {
		unit, request = frame[6], frame[7:]
	} else {
		unit, request = frame[0], frame[1:len(frame)-2]
		if binary.LittleEndian.Uint16(frame[len(frame)-2:]) != pdu.CRC(frame[:len(frame)-2]) {
			s.requests = append(s.requests, "wrong:"+hex.EncodeToString(frame))
			return out
		}
	}
	s.requests = append(s.requests, fmt.Sprintf("%d:%x", unit, request))
	u := s.units[unit]
	if u == nil || s.silent {
		return out
	}
	answer := u.answer(request)
	if s.overTCP {
		reply = pdu.AppendTCP(nil, binary.BigEndian.Uint16(frame), unit, answer)
	} else {
		reply = pdu.AppendRTU(nil, unit, answer)
	}
	if len(s.faults) > 0 {
		f := s.faults[0]
		s.faults = s.faults[1:]
		if f != nil {
			var held []byte
			if reply, held = f(reply); held != nil {
				s.held = append(s.held, held)
			}
		}
	}
	return append(out, reply...)
}

func (u *tables) answer(request []byte) []byte {
	f := request[0]
	refuse := func(e pdu.Exception) []byte { return []byte{f | 0x80, byte(e)} }
	if e := u.says[f]; e != 0 {
		return refuse(e)
	}
	address, n := int(binary.BigEndian.Uint16(request[1:])), int(binary.BigEndian.Uint16(request[3:]))
	switch f {
	case 1, 2:
		packed := make([]byte, (n+7)/8)
		for i := range n {
			bit, ok := u.bits[pdu.Function(f)][address+i]
			if !ok {
				return refuse(pdu.IllegalDataAddress)
			}
			if bit {
				packed[i/8] |= 1 << (i % 8)
			}
		}
		return append([]byte{f, byte(len(packed))}, packed...)
	case 3, 4:
		out := []byte{f, byte(2 * n)}
		for i := range n {
			word, ok := u.words[pdu.Function(f)][address+i]
			if !ok {
				return refuse(pdu.IllegalDataAddress)
			}
			out = binary.BigEndian.AppendUint16(out, word)
		}
		return out
	}
	u.writes++
	switch f {
	case 5:
		u.bits[1][address] = n == 0xFF00
	case 6:
		if u.fixed[n] || u.fixed[address] {
			return refuse(pdu.IllegalDataValue)
		}
		u.words[3][address] = uint16(n)
		if u.limit > 0 {
			u.words[3][address] = min(uint16(n), u.limit)
		}
	case 15:
		for i := range n {
			u.bits[1][address+i] = request[6+i/8]>>(i%8)&1 == 1
		}
		return request[:5]
	case 16:
		for i := range n {
			u.words[3][address+i] = binary.BigEndian.Uint16(request[6+2*i:])
		}
		return request[:5]
	case 22:
		or := int(binary.BigEndian.Uint16(request[5:]))
		u.words[3][address] = uint16(int(u.words[3][address])&n | or&^n)
	default:
		u.writes--
		return refuse(pdu.IllegalFunction)
	}
	return slices.Clone(request)
}
