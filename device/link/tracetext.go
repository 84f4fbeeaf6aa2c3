package link

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// traceTime has a fixed width, so that the lines of a trace stand in columns.
const traceTime = "2006-01-02T15:04:05.000000Z"

// AppendText appends the piece as one line of a trace:
//
//	2026-03-01T12:00:00.250000Z out "T?\r\n"
//	2026-03-01T12:00:00.262000Z in  "21.5\xb0C\r\n"
//
// The bytes are quoted as in Go: printable ASCII is itself, and everything
// else an escape of one byte. Lines that begin with # are remarks.
func (p *Piece) AppendText(dst []byte) []byte {
	if p.Lost > 0 {
		dst = fmt.Appendf(dst, "# %d bytes are missing here: whoever reads this trace is too slow\n", p.Lost)
	}
	dst = p.At.UTC().AppendFormat(dst, traceTime)
	dst = fmt.Appendf(dst, " %-3s \"", p.Direction)
	const hex = "0123456789abcdef"
	for _, c := range p.Bytes {
		switch {
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\\' || c == '"':
			dst = append(dst, '\\', c)
		case c < ' ' || c > '~':
			dst = append(dst, '\\', 'x', hex[c>>4], hex[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"', '\n')
}

// ParseTrace reads a trace that AppendText wrote. The error names the line
// that is none.
func ParseTrace(text string) ([]Piece, error) {
	var pieces []Piece
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		p, err := parsePiece(line)
		if err != nil {
			return nil, fmt.Errorf("line %d of the trace: %w", number, err)
		}
		pieces = append(pieces, p)
	}
	return pieces, nil
}

func parsePiece(line string) (Piece, error) {
	stamp, rest, _ := strings.Cut(line, " ")
	direction, quoted, _ := strings.Cut(rest, " ")
	at, err := time.Parse(traceTime, stamp)
	if err != nil {
		return Piece{}, err
	}
	p := Piece{At: at}
	switch direction {
	case "in":
	case "out":
		p.Direction = Out
	default:
		return Piece{}, fmt.Errorf("%q is neither in nor out", direction)
	}
	text, err := strconv.Unquote(strings.TrimSpace(quoted))
	if err != nil {
		return Piece{}, errors.New(`the bytes do not stand in quotes, such as "R?\r\n"`)
	}
	p.Bytes = []byte(text)
	return p, nil
}
