package graph

import (
	"context"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/graph/model"
)

// listing is what a client may say of a list.
type listing struct {
	match    string
	device   *string
	severity []model.Severity
	first    int
	after    *string
	commands bool
}

func attributePage(ctx context.Context, l listing) (*model.AttributePage, error) {
	found, next, err := l.page(sessionOf(ctx))
	if err != nil {
		return nil, err
	}
	page := &model.AttributePage{Attributes: make([]*model.Attribute, len(found)), Next: next}
	for i, a := range found {
		page.Attributes[i] = &model.Attribute{Of: a}
	}
	return page, nil
}

func commandPage(ctx context.Context, l listing) (*model.CommandPage, error) {
	l.commands = true
	found, next, err := l.page(sessionOf(ctx))
	if err != nil {
		return nil, err
	}
	page := &model.CommandPage{Commands: make([]*model.Command, len(found)), Next: next}
	for i, a := range found {
		page.Commands[i] = &model.Command{Of: a}
	}
	return page, nil
}

// page returns one page, and where the next one begins if there is more. Large
// values end a page before it is full.
func (l *listing) page(session gateway.Session) (found []*gateway.Attribute, next *string, err error) {
	match, err := gateway.ParsePattern(l.match)
	if err != nil {
		return nil, nil, err
	}
	if l.first < 1 || l.first > maxPage {
		return nil, nil, gateway.Errorf(gateway.KindMalformed, "first is a number from 1 to %d, not %d", maxPage, l.first)
	}
	device, after := gateway.MatchAll, gateway.Path("")
	if l.device != nil {
		if err := gateway.CheckSegment(*l.device); err != nil {
			return nil, nil, gateway.Errorf(gateway.KindMalformed, "device: %w", err)
		}
		if device, err = gateway.ParsePattern(*l.device + ".>"); err != nil {
			return nil, nil, err
		}
	}
	if l.after != nil {
		after = gateway.Path(*l.after)
	}
	if match == gateway.MatchAll {
		match = device // the hub looks at fewer
	}
	bytes, more := 0, true
	for more {
		var some []*gateway.Attribute
		some, more = session.List(match, after, l.first)
		for _, a := range some {
			if len(found) == l.first || bytes > pageBytes {
				last := string(after)
				return found, &last, nil
			}
			after = a.Path
			if l.shows(a) && device.Match(a.Path) {
				found = append(found, a)
				bytes += sizeOf(a.Readback) + sizeOf(a.Setpoint)
			}
		}
	}
	return found, nil, nil
}

func sizeOf(s *gateway.Sample) int {
	if s == nil {
		return 0
	}
	return s.Value.Size()
}

func (l *listing) shows(a *gateway.Attribute) bool {
	return a.IsCommand() == l.commands && (l.severity == nil || (&model.Attribute{Of: a}).HasSeverity(l.severity))
}
