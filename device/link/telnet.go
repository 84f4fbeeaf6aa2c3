package link

// Bytes of the telnet protocol (RFC 854) and the options that matter here.
const (
	telnetSE   = 240
	telnetSB   = 250
	telnetWill = 251
	telnetWont = 252
	telnetDo   = 253
	telnetDont = 254
	telnetIAC  = 255

	optionBinary  = 0  // RFC 856
	optionSGA     = 3  // RFC 858, suppress go ahead
	optionComPort = 44 // RFC 2217
)

// maxSub bounds a subnegotiation. Those of RFC 2217 that carry settings are
// short, and a longer one, its signature, is of no interest.
const maxSub = 64

// telnetReader takes the commands out of what a telnet server sends. The zero
// value is ready.
type telnetReader struct {
	state telnetState
	verb  byte
	sub   []byte
}

type telnetState int

const (
	telnetData telnetState = iota
	telnetCommand
	telnetOption
	telnetSub
	telnetSubCommand
)

// telnetHandler is told of commands, in their order. It must copy what it keeps.
type telnetHandler interface {
	negotiate(verb, option byte)
	subnegotiate(b []byte)
}

// decode appends the data in src to dst, which may be src[:0], and tells h of
// the commands. They may be split between calls anywhere.
func (t *telnetReader) decode(dst, src []byte, h telnetHandler) []byte {
	for _, b := range src {
		switch t.state {
		case telnetData:
			if b == telnetIAC {
				t.state = telnetCommand
			} else {
				dst = append(dst, b)
			}
		case telnetCommand:
			dst = t.command(dst, b)
		case telnetOption:
			t.state = telnetData
			h.negotiate(t.verb, b)
		case telnetSub:
			if b == telnetIAC {
				t.state = telnetSubCommand
			} else {
				t.addSub(b)
			}
		case telnetSubCommand:
			switch b {
			case telnetSE:
				t.state = telnetData
				h.subnegotiate(t.sub)
			default: // IAC doubled; what else there might be has no meaning.
				t.state = telnetSub
				t.addSub(b)
			}
		}
	}
	return dst
}

// command handles the byte behind an IAC.
func (t *telnetReader) command(dst []byte, b byte) []byte {
	t.state = telnetData
	switch b {
	case telnetIAC:
		dst = append(dst, b)
	case telnetSB:
		t.state = telnetSub
		t.sub = t.sub[:0]
	case telnetWill, telnetWont, telnetDo, telnetDont:
		t.state = telnetOption
		t.verb = b
	}
	return dst
}

func (t *telnetReader) addSub(b byte) {
	if len(t.sub) < maxSub {
		t.sub = append(t.sub, b)
	}
}

// telnetEscape appends src to dst with each IAC doubled.
func telnetEscape(dst, src []byte) []byte {
	for _, b := range src {
		if b == telnetIAC {
			dst = append(dst, b)
		}
		dst = append(dst, b)
	}
	return dst
}

// telnetTaken says how many bytes of src are in the first n bytes of its
// escaped form. Half of a doubled IAC is none.
func telnetTaken(src []byte, n int) int {
	for i, b := range src {
		n--
		if b == telnetIAC {
			n--
		}
		if n < 0 {
			return i
		}
	}
	return len(src)
}

// telnetOptions are the options of both sides, by the rules of RFC 1143 as far
// as a side needs them that asks once and never changes its mind: what is
// wanted is agreed to, all else is refused, and an answer is not answered.
type telnetOptions struct {
	we, they map[byte]telnetAgreement // of wanted options only
	out      []byte                   // to be sent
}

type telnetAgreement int

const (
	optionAsked telnetAgreement = iota + 1
	optionOn
	optionOff
)

// ask asks for an option on our side or on theirs.
func (o *telnetOptions) ask(verb, option byte) {
	side := &o.we
	if verb == telnetDo {
		side = &o.they
	}
	if *side == nil {
		*side = map[byte]telnetAgreement{}
	}
	(*side)[option] = optionAsked
	o.send(verb, option)
}

func (o *telnetOptions) send(verb, option byte) {
	o.out = append(o.out, telnetIAC, verb, option)
}

// negotiate handles what the other side says of an option.
func (o *telnetOptions) negotiate(verb, option byte) {
	switch verb {
	case telnetDo:
		o.request(o.we, option, telnetWill, telnetWont)
	case telnetDont:
		o.refusal(o.we, option, telnetWont)
	case telnetWill:
		o.request(o.they, option, telnetDo, telnetDont)
	case telnetWont:
		o.refusal(o.they, option, telnetDont)
	}
}

func (o *telnetOptions) request(side map[byte]telnetAgreement, option, yes, no byte) {
	switch side[option] {
	case optionAsked:
		side[option] = optionOn
	case optionOff:
		side[option] = optionOn
		o.send(yes, option)
	case optionOn: // Said again.
	default:
		o.send(no, option)
	}
}

func (o *telnetOptions) refusal(side map[byte]telnetAgreement, option, no byte) {
	if side[option] == optionOn {
		o.send(no, option)
	}
	if side[option] != 0 {
		side[option] = optionOff
	}
}
