package serial

import (
	"time"

	"go.yaml.in/yaml/v4"
)

// Steps are requests that are sent in a row, with nothing of anybody else
// between them: one text, or a list of texts and steps.
type Steps []Step

// A Step is one request, or a pause.
type Step struct {
	Send string `yaml:"send" json:"send,omitempty"`
	// Reply is what the instrument answers to this step. Empty means that it
	// answers nothing, also where there is a common reply.
	Reply *string `yaml:"reply" json:"reply,omitempty"`
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

// UnmarshalYAML takes a text, or a mapping with send, reply and wait.
func (s *Step) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		return n.Load(&s.Send)
	}
	type plain Step
	return n.Load((*plain)(s))
}
