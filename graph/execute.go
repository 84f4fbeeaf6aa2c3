package graph

import (
	"context"
	"errors"
	"runtime/debug"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/99designs/gqlgen/graphql/executor"
	"github.com/99designs/gqlgen/graphql/handler/extension"
	"github.com/99designs/gqlgen/graphql/handler/lru"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/graph/generated"
)

// newExecutor sets gqlgen up. What parses and checks a query comes from there.
func (s *Server) newExecutor() *executor.Executor {
	exec := executor.New(generated.NewExecutableSchema(generated.Config{Resolvers: resolvers{s}}))
	exec.SetParserTokenLimit(maxTokens)
	exec.SetQueryCache(shortQueries{lru.New[*ast.QueryDocument](cachedQueries)})
	exec.SetErrorPresenter(present)
	exec.SetRecoverFunc(s.recovered)
	exec.Use(queryLength{})
	exec.Use(extension.AutomaticPersistedQuery{Cache: lru.New[string](persistedQueries)})
	exec.Use(extension.Introspection{})
	exec.Use(costLimit{})
	return exec
}

// shortQueries keeps parsed queries, if they are short: what is kept of a long
// one would let a few clients fill the memory.
type shortQueries struct {
	graphql.Cache[*ast.QueryDocument]
}

// Add keeps a parsed query.
func (c shortQueries) Add(ctx context.Context, query string, doc *ast.QueryDocument) {
	if len(query) <= cachedQueryBytes {
		c.Cache.Add(ctx, query, doc)
	}
}

// prepare parses and checks a request. It never panics. The errors are complete.
func (s *Server) prepare(ctx context.Context, params *graphql.RawParams) (op *graphql.OperationContext, failed *graphql.Response) {
	defer func() {
		if fault := recover(); fault != nil {
			op, failed = nil, failure(s.recovered(ctx, fault))
		}
	}()
	ctx = graphql.StartOperationTrace(ctx)
	op, errs := s.exec.CreateOperationContext(ctx, params)
	if len(errs) > 0 {
		return nil, s.exec.DispatchError(graphql.WithOperationContext(ctx, op), errs)
	}
	return op, nil
}

// run executes a query or mutation. It never panics.
func (s *Server) run(ctx context.Context, op *graphql.OperationContext) (response *graphql.Response) {
	defer func() {
		if fault := recover(); fault != nil {
			response = failure(s.recovered(ctx, fault))
		}
	}()
	next, ctx := s.exec.DispatchOperation(ctx, op)
	if response = next(ctx); response == nil {
		return failure(gateway.Errorf(gateway.KindUnknownOutcome, "stopped waiting: %w", context.Cause(ctx)))
	}
	return response
}

// recovered turns a fault into an error: a fault in one request must not end the
// serving of instruments to all others.
func (s *Server) recovered(_ context.Context, fault any) error {
	s.log.Error().Interface("fault", fault).Bytes("stack", debug.Stack()).Msg("request failed")
	return gateway.Errorf(gateway.KindInternal, "a fault of the gateway; its log has more")
}

// failure is an answer that says nothing but an error.
func failure(err error) *graphql.Response {
	var ready *gqlerror.Error
	if errors.As(err, &ready) {
		return &graphql.Response{Errors: gqlerror.List{ready}}
	}
	return &graphql.Response{Errors: gqlerror.List{describe(&gqlerror.Error{Message: err.Error(), Err: err})}}
}

// present describes an error to a client. Errors of the gateway have their kind
// as the code; those that gqlgen found in a request have GraphQL's own.
func present(ctx context.Context, err error) *gqlerror.Error {
	return describe(graphql.DefaultErrorPresenter(ctx, err))
}

func describe(shown *gqlerror.Error) *gqlerror.Error {
	if shown.Extensions == nil {
		shown.Extensions = map[string]any{}
	}
	var e *gateway.Error
	switch {
	case errors.As(shown.Err, &e):
	case shown.Extensions["code"] != nil:
		return shown
	case shown.Err == nil || errors.As(shown.Err, new(*gqlerror.Error)):
		shown.Extensions["code"] = errcode.ValidationFailed
		return shown
	default:
		e = gateway.AsError(shown.Err)
	}
	shown.Message = e.Error()
	shown.Extensions["code"] = e.Kind.String()
	if e.Stage != gateway.StageNone {
		shown.Extensions["stage"] = e.Stage.String()
	}
	if e.DeviceWords != "" {
		shown.Extensions["deviceWords"] = e.DeviceWords
	}
	var about *named
	if errors.As(shown.Err, &about) {
		shown.Extensions["name"] = about.name
	}
	return shown
}

// named is an error about an attribute, command or device.
type named struct {
	name string
	err  error
}

func (e *named) Error() string { return e.err.Error() }
func (e *named) Unwrap() error { return e.err }

func aboutName(name string, err error) error {
	if err == nil {
		return nil
	}
	return &named{gateway.Quotable(name), err}
}
