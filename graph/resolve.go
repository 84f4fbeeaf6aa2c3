package graph

import (
	"context"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/graph/generated"
	"github.com/polygate/gateway/graph/model"
)

// resolvers answer the fields that are not just a member of something.
type resolvers struct{ server *Server }

type (
	queryResolver        struct{ resolvers }
	mutationResolver     struct{ resolvers }
	subscriptionResolver struct{ resolvers }
	deviceResolver       struct{ resolvers }
)

var _ generated.ResolverRoot = resolvers{}

// Query answers queries.
func (r resolvers) Query() generated.QueryResolver { return queryResolver{r} }

// Mutation answers mutations.
func (r resolvers) Mutation() generated.MutationResolver { return mutationResolver{r} }

// Subscription answers subscriptions.
func (r resolvers) Subscription() generated.SubscriptionResolver { return subscriptionResolver{r} }

// Device answers fields of a device.
func (r resolvers) Device() generated.DeviceResolver { return deviceResolver{r} }

type sessionKey struct{}

// withSession returns a context for requests of a caller.
func withSession(ctx context.Context, session gateway.Session) context.Context {
	return context.WithValue(ctx, sessionKey{}, session)
}

// sessionOf returns what withSession has put in. Every request has one.
func sessionOf(ctx context.Context) gateway.Session {
	session, _ := ctx.Value(sessionKey{}).(gateway.Session)
	return session
}

// find returns the attribute or command of a name. Names that cannot exist do
// not exist: they are not found, as any other name that nothing has.
func (r resolvers) find(ctx context.Context, name string, command bool) (*gateway.Attribute, error) {
	path, err := gateway.ParsePath(name)
	if err != nil {
		return nil, gateway.Errorf(gateway.KindNotFound, "there is nothing of that name: %w", err)
	}
	attribute, err := sessionOf(ctx).Get(path)
	switch {
	case err != nil:
		r.server.cache.forget(path)
		return nil, err
	case command && !attribute.IsCommand():
		return nil, gateway.Errorf(gateway.KindNotFound, "%s is an attribute, no command", path)
	case !command && attribute.IsCommand():
		return nil, gateway.Errorf(gateway.KindNotFound, "%s is a command, no attribute", path)
	}
	return attribute, nil
}

// Attribute answers the field of that name.
func (r queryResolver) Attribute(ctx context.Context, name string) (*model.Attribute, error) {
	attribute, err := r.find(ctx, name, false)
	if err != nil {
		return nil, aboutName(name, err)
	}
	return &model.Attribute{Of: attribute}, nil
}

// Command answers the field of that name.
func (r queryResolver) Command(ctx context.Context, name string) (*model.Command, error) {
	command, err := r.find(ctx, name, true)
	if err != nil {
		return nil, aboutName(name, err)
	}
	return &model.Command{Of: command}, nil
}

// Attributes answers the field of that name.
func (r queryResolver) Attributes(ctx context.Context, match string, device *string, severity []model.Severity, first int, after *string) (*model.AttributePage, error) {
	return attributePage(ctx, listing{match: match, device: device, severity: severity, first: first, after: after})
}

// Commands answers the field of that name.
func (r queryResolver) Commands(ctx context.Context, match string, device *string, first int, after *string) (*model.CommandPage, error) {
	return commandPage(ctx, listing{match: match, device: device, first: first, after: after})
}

// Device answers the field of that name.
func (r queryResolver) Device(ctx context.Context, name string) (*model.Device, error) {
	for _, d := range sessionOf(ctx).Devices() {
		if d.Name == name {
			return &model.Device{Of: d}, nil
		}
	}
	return nil, aboutName(name, gateway.Errorf(gateway.KindNotFound, "there is no device %q", gateway.Quotable(name)))
}

// Devices answers the field of that name.
func (r queryResolver) Devices(ctx context.Context) ([]*model.Device, error) {
	devices := sessionOf(ctx).Devices()
	list := make([]*model.Device, len(devices))
	for i, d := range devices {
		list[i] = &model.Device{Of: d}
	}
	return list, nil
}

// Attributes answers the field of that name.
func (r deviceResolver) Attributes(ctx context.Context, device *model.Device, match string, severity []model.Severity, first int, after *string) (*model.AttributePage, error) {
	return attributePage(ctx, listing{match: match, device: &device.Of.Name, severity: severity, first: first, after: after})
}

// Commands answers the field of that name.
func (r deviceResolver) Commands(ctx context.Context, device *model.Device, first int, after *string) (*model.CommandPage, error) {
	return commandPage(ctx, listing{match: ">", device: &device.Of.Name, first: first, after: after})
}
