package serial

import (
	"fmt"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/polygate/gateway"
)

// Steps are requests that are sent in a row, with nothing of anybody else
// between them: one text, or a list of texts and steps.
type Steps []Step

// A Step is one request, a break, or a pause.
type Step struct {
	Send string `yaml:"send" json:"send,omitempty"`
	// Reply is what the instrument answers to this step. Empty means that it
	// answers nothing, also where there is a common reply.
	Reply *string `yaml:"reply" json:"reply,omitempty"`
	// Break holds the line in the break condition for so long, before anything
	// is sent.
	Break time.Duration `yaml:"break" json:"break,omitempty"`
	// Wait is a pause after the step.
	Wait time.Duration `yaml:"wait" json:"wait,omitempty"`
}

// UnmarshalYAML takes a text, one step, or a list of both.
func (s *Steps) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode {
		*s = make(Steps, 1)
		return n.Load(&(*s)[0])
	}
	return n.Load((*[]Step)(s))
}

// UnmarshalYAML takes a text, or a mapping with what a step has.
func (s *Step) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		return n.Load(&s.Send)
	}
	type plain Step
	return n.Load((*plain)(s))
}

// key tells different steps apart.
func (s Steps) key() string {
	var b strings.Builder
	for i := range s {
		reply := ""
		if s[i].Reply != nil {
			reply = *s[i].Reply
		}
		fmt.Fprintf(&b, "%q %q %v %v\n", s[i].Send, reply, s[i].Break, s[i].Wait)
	}
	return b.String()
}

// take sends a step that takes no value, and waits for what belongs to it. The
// answer's fault is set if the reply is not the one that is wanted. The error
// is the line's or the context's.
func (t *talk) take(s *step) (answer, error) {
	var request []byte
	if s.brk > 0 {
		if fault, err := t.sendBreak(s.brk); fault != nil || err != nil {
			return answer{at: time.Now(), fault: failure(gateway.StatusComm, "%v", fault)}, err
		}
	}
	if s.format != nil {
		var err error
		if request, err = s.format.Append(nil); err != nil {
			return answer{}, err
		}
		if _, err := t.send(request); err != nil {
			return answer{}, err
		}
	}
	var a answer
	if s.reply != nil {
		var err error
		if a, err = t.await(request, "", func(line []byte) error {
			_, err := s.reply.Match(line)
			return err
		}); err != nil {
			return a, err
		}
	}
	if s.wait > 0 {
		return a, wait(t.ctx, s.wait)
	}
	return a, nil
}

// sendBreak holds the line in the break condition. The fault is that of a link
// that cannot; the error is the line's or the context's.
func (t *talk) sendBreak(d time.Duration) (fault, err error) {
	err = t.conn.Break(d)
	if err == nil || lost(err) != nil || t.ctx.Err() != nil {
		return nil, err
	}
	return err, nil
}

// takeAll takes steps until one is not answered as it should be.
func (t *talk) takeAll(steps []step) (answer, error) {
	for i := range steps {
		if a, err := t.take(&steps[i]); err != nil || !a.ok() {
			return a, err
		}
	}
	return answer{}, nil
}

// ask takes the steps of an exchange up to its request, whose reply is then
// still to come.
func (t *talk) ask(x *exchange) (answer, error) {
	a, err := t.takeAll(x.before)
	if err != nil || !a.ok() {
		return a, err
	}
	_, err = t.send(x.request)
	return answer{}, err
}
