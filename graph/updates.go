package graph

import (
	"context"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/graph/model"
)

// The rates that a subscription may be limited to, in deliveries a second.
const (
	lowestRate  = 1.0 / 3600
	highestRate = 1e6
)

// Updates answers the field of that name: it begins the subscription that the
// context is of. What comes is put into the channel by its feed.
func (r subscriptionResolver) Updates(ctx context.Context, match string, roles []model.Role, changes []model.Change, maxRate *float64, every bool, cursor *string) (<-chan *model.Updates, error) {
	sub, _ := ctx.Value(subscriptionKey{}).(*subscription)
	if sub == nil {
		return nil, gateway.Errorf(gateway.KindMalformed, "a subscription needs a WebSocket, or Accept: text/event-stream")
	}
	options := gateway.WatchOptions{Roles: model.RolesOf(roles), Mask: model.MaskOf(changes), Every: every}
	var err error
	if options.Match, err = gateway.ParsePattern(match); err != nil {
		return nil, err
	}
	if options.MinInterval, err = intervalOf(maxRate); err != nil {
		return nil, err
	}
	options.Cursor = sub.resume
	if cursor != nil && sub.resume == (gateway.Cursor{}) {
		if options.Cursor, err = gateway.ParseCursor(*cursor); err != nil {
			return nil, err
		}
	}
	if err := checkReadable(sub.feed.session, options); err != nil {
		return nil, err
	}
	return sub.deliveries, sub.begin(options)
}

func intervalOf(maxRate *float64) (time.Duration, error) {
	switch {
	case maxRate == nil:
		return 0, nil
	case *maxRate >= lowestRate && *maxRate <= highestRate:
		return time.Duration(float64(time.Second) / *maxRate), nil
	}
	return 0, gateway.Errorf(gateway.KindMalformed, "maxRate is in deliveries a second, from %.4f to %.0f", lowestRate, highestRate)
}

// checkReadable refuses a subscription to one attribute that would say nothing.
// One that does not exist may come to exist.
func checkReadable(session gateway.Session, watch gateway.WatchOptions) error {
	path, exact := watch.Match.Exact()
	if !exact || watch.Roles != gateway.Readback {
		return nil
	}
	attribute, err := session.Get(path)
	if err != nil || attribute.Readback != nil {
		return nil //nolint:nilerr // not there yet is no error of a subscription.
	}
	return aboutName(string(path), gateway.Errorf(gateway.KindWriteOnly, "%s cannot be read", path))
}
