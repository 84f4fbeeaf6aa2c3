package graph

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/graph/model"
)

// Put answers the field of that name. The client going away ends the waiting,
// not the put.
func (r mutationResolver) Put(ctx context.Context, name string, value model.Value, mode model.Mode, budget *float64, urgent bool) (*model.Verdict, error) {
	verdict, a, err := r.put(ctx, &model.PutInput{Name: name, Value: value, Mode: mode, Budget: budget, Urgent: urgent})
	if err != nil {
		return nil, aboutName(name, gateway.Unsent(err))
	}
	if err := failureOf(verdict); err != nil {
		return nil, aboutName(name, err)
	}
	return model.VerdictOf(a, &verdict), nil
}

// failureOf returns a verdict's error, as an error that may be nil.
func failureOf(v gateway.Verdict) error {
	if v.Err == nil {
		return nil
	}
	return v.Err
}

// PutMany answers the field of that name: puts side by side, so that each device
// has what is meant for it at once.
func (r mutationResolver) PutMany(ctx context.Context, puts []*model.PutInput) ([]*model.Verdict, error) {
	if len(puts) > maxPuts {
		return nil, gateway.Errorf(gateway.KindTooLarge, "%d puts are more than %d", len(puts), maxPuts)
	}
	verdicts := make([]*model.Verdict, len(puts))
	slots := make(chan struct{}, putsAtOnce)
	var waiting sync.WaitGroup
	for i, put := range puts {
		slots <- struct{}{}
		waiting.Go(func() {
			defer func() { <-slots }()
			verdicts[i] = r.verdict(ctx, put)
		})
	}
	waiting.Wait()
	return verdicts, nil
}

// verdict puts and never panics, being on a goroutine that nobody else protects.
func (r mutationResolver) verdict(ctx context.Context, put *model.PutInput) (shown *model.Verdict) {
	defer func() {
		if fault := recover(); fault != nil {
			shown = model.Refusal(put.Name, r.server.recovered(ctx, fault))
		}
	}()
	v, a, err := r.put(ctx, put)
	if err != nil {
		return model.Refusal(put.Name, gateway.Unsent(err))
	}
	return model.VerdictOf(a, &v)
}

// put waits for the verdict of a put. An error is a refusal.
func (r mutationResolver) put(ctx context.Context, put *model.PutInput) (gateway.Verdict, *gateway.Attribute, error) {
	attribute, err := r.find(ctx, put.Name, false)
	if err != nil {
		return gateway.Verdict{}, nil, err
	}
	request := gateway.PutRequest{Path: attribute.Path, Mode: model.ModeOf(put.Mode), Urgent: put.Urgent}
	if request.Budget, err = budgetOf(put.Budget); err != nil {
		return gateway.Verdict{}, nil, err
	}
	if !attribute.CanWrite() {
		return gateway.Verdict{}, nil, refused(gateway.Errorf(gateway.KindReadOnly, "it is read-only"), attribute.Path)
	}
	if request.Value, err = put.Value.Parse(&attribute.Type); err != nil {
		return gateway.Verdict{}, nil, refused(err, attribute.Path)
	}
	pending, err := sessionOf(ctx).Put(request)
	if err != nil {
		return gateway.Verdict{}, nil, err
	}
	return gateway.Wait(ctx, pending), attribute, nil
}

// Refresh answers the field of that name.
func (r mutationResolver) Refresh(ctx context.Context, name string, mode model.Mode, budget *float64, urgent bool) (*model.Verdict, error) {
	attribute, err := r.find(ctx, name, false)
	if err != nil {
		return nil, aboutName(name, gateway.Unsent(err))
	}
	request := gateway.PutRequest{Path: attribute.Path, Mode: model.ModeOf(mode), Urgent: urgent}
	if request.Budget, err = budgetOf(budget); err != nil {
		return nil, aboutName(name, gateway.Unsent(err))
	}
	pending, err := sessionOf(ctx).Refresh(request)
	if err != nil {
		return nil, aboutName(name, gateway.Unsent(err))
	}
	verdict := gateway.Wait(ctx, pending)
	if err := failureOf(verdict); err != nil {
		return nil, aboutName(name, err)
	}
	return model.VerdictOf(attribute, &verdict), nil
}

// Execute answers the field of that name.
func (r mutationResolver) Execute(ctx context.Context, name string, argument *model.Value, mode model.Mode, budget *float64, urgent bool) (*model.Verdict, error) {
	command, err := r.find(ctx, name, true)
	if err != nil {
		return nil, aboutName(name, gateway.Unsent(err))
	}
	request := gateway.PutRequest{Path: command.Path, Mode: model.ModeOf(mode), Urgent: urgent}
	if request.Budget, err = budgetOf(budget); err != nil {
		return nil, aboutName(name, gateway.Unsent(err))
	}
	if request.Value, err = argumentOf(command, argument); err != nil {
		return nil, aboutName(name, refused(err, command.Path))
	}
	pending, err := sessionOf(ctx).Execute(request)
	if err != nil {
		return nil, aboutName(name, gateway.Unsent(err))
	}
	verdict := gateway.Wait(ctx, pending)
	if err := failureOf(verdict); err != nil {
		return nil, aboutName(name, err)
	}
	return model.VerdictOf(command, &verdict), nil
}

func argumentOf(command *gateway.Attribute, argument *model.Value) (gateway.Value, error) {
	switch {
	case command.Argument == nil && argument != nil:
		return gateway.Value{}, gateway.Errorf(gateway.KindWrongType, "the command takes no argument")
	case command.Argument == nil:
		return gateway.Value{}, nil
	case argument == nil:
		return gateway.Value{}, gateway.Errorf(gateway.KindMalformed, "the command takes an argument")
	}
	return argument.Parse(command.Argument)
}

func budgetOf(seconds *float64) (time.Duration, error) {
	if seconds == nil {
		return 0, nil
	}
	most := gateway.MaxBudget.Seconds()
	if s := *seconds; math.IsNaN(s) || s < time.Nanosecond.Seconds() || s > most {
		return 0, gateway.Errorf(gateway.KindMalformed, "budget is in seconds, above 0 and at most %v, not %v", most, s)
	}
	return time.Duration(*seconds * float64(time.Second)), nil
}

// refused adds what a conversion does not know: which attribute, and that
// nothing was sent.
func refused(err error, path gateway.Path) error {
	return &gateway.Error{
		Kind: gateway.KindOf(err), Stage: gateway.StageRefused,
		Msg: string(path) + ": " + err.Error(), Err: err,
	}
}
