package bus

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/polygate/gateway"
)

// DefaultPrefix is what all subjects begin with where the configuration sets nothing.
const DefaultPrefix = "polygate"

// version is the second part of all subjects. It changes when payloads become
// incompatible, so that old and new processes do not hear each other.
const version = "v1"

// subjects makes the names of subjects; it is the prefix with the version and a dot.
type subjects string

func newSubjects(prefix string) subjects {
	if prefix == "" {
		prefix = DefaultPrefix
	}
	return subjects(prefix + "." + version + ".")
}

func (s subjects) update(device string) string   { return string(s) + "update." + device }
func (s subjects) announce(device string) string { return string(s) + "announce." + device }
func (s subjects) state(device string) string    { return string(s) + "state." + device }
func (s subjects) describe() string              { return string(s) + "describe" }
func (s subjects) trace(link string) string      { return string(s) + "trace." + link }

func (s subjects) put(owner gateway.Owner) string {
	return string(s) + "put." + owner.Device + "." + owner.Instance
}

// device returns the last part of a subject.
func device(subject string) string {
	return subject[strings.LastIndexByte(subject, '.')+1:]
}

// replyToken writes a PutID as the last part of the subject of its verdict, so
// that an answer without payload can still be told apart.
func replyToken(id gateway.PutID) string {
	return strconv.FormatUint(id.Hub, 36) + "-" + strconv.FormatUint(id.N, 36)
}

func parseReplyToken(token string) (gateway.PutID, error) {
	hubText, nText, _ := strings.Cut(token, "-")
	hub, err := strconv.ParseUint(hubText, 36, 64)
	if err != nil {
		return gateway.PutID{}, fmt.Errorf("%q names no put: %w", gateway.Quotable(token), err)
	}
	n, err := strconv.ParseUint(nText, 36, 64)
	if err != nil {
		return gateway.PutID{}, fmt.Errorf("%q names no put: %w", gateway.Quotable(token), err)
	}
	return gateway.PutID{Hub: hub, N: n}, nil
}
