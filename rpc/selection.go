package rpc

import (
	"math"
	"time"

	"github.com/polygate/gateway"
	wire "github.com/polygate/gateway/proto"
	pb "github.com/polygate/gateway/proto/polygate/v1"
)

// The rates that a watch may be limited to, in deliveries a second.
const (
	lowestRate  = 1.0 / 3600
	highestRate = 1e6
)

// A selection is a watch as a client asked for it: one watch of the hub for
// each pattern. It gathers their events into batches. One goroutine uses it,
// the one that sends.
type selection struct {
	id       uint64 // on a session
	describe bool
	options  []gateway.WatchOptions
	watches  []gateway.WatchID // of the options

	unsynced int // patterns that are
	cursor   gateway.Cursor

	// The batch under way: complete parts, and the last part.
	parts  frame
	last   []byte
	size   int // bytes of parts
	events int
	lost   uint64
	before int // bytes of the last part of the batch before
}

// part says what a watch of the hub is part of.
type part struct {
	*selection
	index int // of options
}

func selectionOf(session gateway.Session, r *pb.WatchRequest) (*selection, error) {
	common := gateway.WatchOptions{Mask: gateway.Mask(r.GetMask()), Every: r.GetEvery()}
	if r.GetMask() > uint32(gateway.MaskAll) {
		return nil, malformed("mask", "the bits of a mask are 1, 2, 4 and 8, not %#x", r.GetMask())
	}
	switch r.GetRole() {
	case pb.Role_ROLE_UNSPECIFIED:
		common.Roles = gateway.RoleBoth
	case pb.Role_ROLE_READBACK:
		common.Roles = gateway.Readback
	case pb.Role_ROLE_SETPOINT:
		common.Roles = gateway.Setpoint
	default:
		return nil, malformed("role", "there is no role %d", r.GetRole())
	}
	switch rate := r.GetMaxRate(); {
	case rate == 0:
	case rate >= lowestRate && rate <= highestRate:
		common.MinInterval = time.Duration(math.Ceil(float64(time.Second) / rate))
	default:
		return nil, malformed("max_rate", "max_rate is in deliveries a second, from %.4f to %.0f, not %v", lowestRate, highestRate, rate)
	}
	var err error
	if common.Cursor, err = gateway.ParseCursor(r.GetCursor()); err != nil {
		return nil, blame("cursor", err)
	}
	patterns, err := patternsOf(r.GetMatch())
	if err != nil {
		return nil, blame("match", err)
	}
	s := &selection{describe: r.GetDescriptors()}
	for _, pattern := range patterns {
		common.Match = pattern
		if err := checkReadable(session, &common); err != nil {
			return nil, err
		}
		s.options = append(s.options, common)
	}
	return s, nil
}

// checkReadable refuses a watch of one attribute that says nothing. One that does
// not exist may come to exist.
func checkReadable(session gateway.Session, o *gateway.WatchOptions) error {
	path, exact := o.Match.Exact()
	if !exact || o.Roles != gateway.Readback {
		return nil
	}
	if a, err := session.Get(path); err == nil && a.Readback == nil {
		return about(string(path), gateway.Errorf(gateway.KindWriteOnly, "%s cannot be read", path))
	}
	return nil
}

// patternsOf returns those with wildcards first, and no name that one of them
// selects anyway.
func patternsOf(texts []string) ([]gateway.Pattern, error) {
	switch {
	case len(texts) == 0:
		return []gateway.Pattern{gateway.MatchAll}, nil
	case len(texts) > maxNames:
		return nil, gateway.Errorf(gateway.KindTooLarge, "more than %d names and patterns", maxNames)
	}
	var wild, names []gateway.Pattern
	known := map[gateway.Pattern]bool{}
	for _, text := range texts {
		pattern, err := patternOf(text)
		if err != nil {
			return nil, err
		}
		if known[pattern] {
			continue
		}
		known[pattern] = true
		if _, exact := pattern.Exact(); exact {
			names = append(names, pattern)
		} else if wild = append(wild, pattern); len(wild) > maxPatterns {
			return nil, gateway.Errorf(gateway.KindTooLarge, "more than %d patterns with wildcards", maxPatterns)
		}
	}
	patterns := wild
	for _, name := range names {
		if path, _ := name.Exact(); !anyMatches(wild, path) {
			patterns = append(patterns, name)
		}
	}
	return patterns, nil
}

func anyMatches(patterns []gateway.Pattern, path gateway.Path) bool {
	for _, pattern := range patterns {
		if pattern.Match(path) {
			return true
		}
	}
	return false
}

// begin starts the watches and enters them in parts. If that fails, those that
// were started are ended.
func (s *selection) begin(queue gateway.Stream, parts map[gateway.WatchID]part) error {
	s.unsynced = len(s.options)
	for i := range s.options {
		id, err := queue.Watch(s.options[i])
		if err != nil {
			s.end(queue, parts)
			return err
		}
		s.watches = append(s.watches, id)
		parts[id] = part{s, i}
	}
	return nil
}

// end ends the watches.
func (s *selection) end(queue gateway.Stream, parts map[gateway.WatchID]part) {
	for _, id := range s.watches {
		queue.Unwatch(id)
		delete(parts, id)
	}
	s.watches = nil
}

// add appends an event to the batch. It reports true if the watch cannot go on
// where its cursor was, and the selection must begin anew as a whole.
func (p part) add(e *gateway.Event, known *shared) (anew bool, err error) {
	s := p.selection
	switch {
	case e.Type == gateway.EventGap && len(s.options) > 1:
		anew = true
	case e.Type == gateway.EventSynced:
		if s.unsynced--; s.unsynced > 0 {
			return false, nil
		}
	case e.Attribute != nil && p.index > 0 && s.isRepeated(p.index, e.Attribute.Path):
		return false, nil
	}
	if err := s.encode(e, known); err != nil {
		return false, err
	}
	s.events++
	s.lost += uint64(e.Lost)
	if e.Cursor != (gateway.Cursor{}) {
		s.cursor = e.Cursor
	}
	return anew, nil
}

func (s *selection) encode(e *gateway.Event, known *shared) (err error) {
	if large(e) {
		body, err := known.event(e)
		if err != nil {
			return err
		}
		s.endPart()
		s.parts = append(s.parts, body)
		s.size += len(body)
		return nil
	}
	if e.Type == gateway.EventRemoved {
		known.forget(e.Attribute.Path)
	}
	if s.last == nil {
		s.last = make([]byte, 0, s.before+s.before/8+minBatch)
	}
	s.last, err = wire.AppendEvent(s.last, e, s.describe)
	return err
}

// endPart makes the last part a complete one.
func (s *selection) endPart() {
	if len(s.last) > 0 {
		s.parts = append(s.parts, s.last)
		s.size += len(s.last)
	}
	s.last = nil
}

// isRepeated reports whether an earlier pattern selects the path as well. A
// pattern that is a name has been checked before.
func (s *selection) isRepeated(index int, path gateway.Path) bool {
	if _, exact := s.options[index].Match.Exact(); exact {
		return false
	}
	for i := range index {
		if s.options[i].Match.Match(path) {
			return true
		}
	}
	return false
}

// full reports whether it is time to send the batch.
func (s *selection) full() bool { return s.events >= batchEvents || s.size+len(s.last) >= batchBytes }

// take returns the batch as a WatchResponse and begins the next.
func (s *selection) take() frame {
	cursor := s.cursor
	// Watches that hold events back for different times have no common place
	// in the order of events.
	if s.unsynced > 0 || len(s.options) > 1 && s.options[0].MinInterval > 0 {
		cursor = gateway.Cursor{}
	}
	s.last = wire.AppendBatchEnd(s.last, cursor, s.lost)
	s.before = len(s.last)
	s.endPart()
	batch := s.parts
	s.parts, s.size, s.events, s.lost = nil, 0, 0, 0
	return batch
}
