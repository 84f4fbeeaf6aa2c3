package graph

import (
	"context"
	"strconv"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/99designs/gqlgen/graphql/errcode"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/polygate/gateway"
)

// queryLength refuses queries that are too long to be parsed.
type queryLength struct{}

var (
	_ graphql.OperationParameterMutator = queryLength{}
	_ graphql.OperationContextMutator   = costLimit{}
)

// ExtensionName names it for gqlgen.
func (queryLength) ExtensionName() string { return "QueryLength" }

// Validate finds nothing wrong.
func (queryLength) Validate(graphql.ExecutableSchema) error { return nil }

// MutateOperationParameters refuses a query that is too long.
func (queryLength) MutateOperationParameters(_ context.Context, request *graphql.RawParams) *gqlerror.Error {
	if len(request.Query) > maxQuery {
		return beyond("the query has %d bytes, more than %d; values belong into variables", len(request.Query), maxQuery)
	}
	return nil
}

// costLimit refuses queries whose answer would be too large or too deep. Every
// fragment is measured once, so no query can make the measuring long.
type costLimit struct{}

// ExtensionName names it for gqlgen.
func (costLimit) ExtensionName() string { return "CostLimit" }

// Validate finds nothing wrong.
func (costLimit) Validate(graphql.ExecutableSchema) error { return nil }

// MutateOperationContext measures a query that has been checked already.
func (costLimit) MutateOperationContext(_ context.Context, op *graphql.OperationContext) *gqlerror.Error {
	m := meter{variables: op.Variables, fragments: map[string]extent{}}
	total := m.set(op.Operation.SelectionSet)
	switch {
	case m.number != "":
		err := gqlerror.Errorf("the number %s is too large to stand in a query: write it as a string, or use a variable", gateway.Quotable(m.number))
		errcode.Set(err, errcode.ValidationFailed)
		return err
	case m.deferred:
		return beyond("@defer is not served: ask for less, or in two queries")
	case m.aliases > maxAliases:
		return beyond("the query has %d aliases, more than %d", m.aliases, maxAliases)
	case total.depth > maxDepth:
		return beyond("the query is %d levels deep, more than %d", total.depth, maxDepth)
	case total.cost > maxCost:
		return beyond("the answer could have %d fields, more than %d; ask for smaller pages", total.cost, maxCost)
	}
	return nil
}

func beyond(format string, args ...any) *gqlerror.Error {
	err := gqlerror.Errorf(format, args...)
	errcode.Set(err, "too_large")
	return err
}

// extent is how large the answer to a part of a query may be.
type extent struct{ cost, depth int }

// most keeps the multiplication of costs from overflowing.
const most = 1 << 30

type meter struct {
	variables map[string]any
	fragments map[string]extent
	aliases   int
	deferred  bool
	number    string // one that gqlgen cannot read
}

func (m *meter) set(selections ast.SelectionSet) extent {
	var sum extent
	for _, selection := range selections {
		var one extent
		switch selection := selection.(type) {
		case *ast.Field:
			one = m.field(selection)
		case *ast.InlineFragment:
			m.directives(selection.Directives)
			one = m.set(selection.SelectionSet)
		case *ast.FragmentSpread:
			m.directives(selection.Directives)
			one = m.fragment(selection.Definition)
		}
		sum.cost = min(sum.cost+one.cost, most)
		sum.depth = max(sum.depth, one.depth)
	}
	return sum
}

func (m *meter) directives(list ast.DirectiveList) {
	m.deferred = m.deferred || list.ForName("defer") != nil
}

func (m *meter) fragment(definition *ast.FragmentDefinition) extent {
	known, measured := m.fragments[definition.Name]
	if !measured {
		known = m.set(definition.SelectionSet)
		m.fragments[definition.Name] = known
	}
	return known
}

func (m *meter) field(f *ast.Field) extent {
	if f.Alias != f.Name {
		m.aliases++
	}
	for _, argument := range f.Arguments {
		m.value(argument.Value)
	}
	if strings.HasPrefix(f.Name, "__") {
		return extent{cost: introspectionCost[f.Name], depth: 1}
	}
	below := m.set(f.SelectionSet)
	return extent{cost: min(1+m.times(f)*below.cost, most), depth: below.depth + 1}
}

// value looks for numbers that gqlgen cannot read: it would panic.
func (m *meter) value(v *ast.Value) {
	var err error
	switch v.Kind {
	case ast.IntValue:
		_, err = strconv.ParseInt(v.Raw, 10, 64)
	case ast.FloatValue:
		_, err = strconv.ParseFloat(v.Raw, 64)
	case ast.Variable:
		if v.VariableDefinition != nil && v.VariableDefinition.DefaultValue != nil {
			m.value(v.VariableDefinition.DefaultValue)
		}
	default:
		for _, child := range v.Children {
			m.value(child.Value)
		}
	}
	if err != nil {
		m.number = v.Raw
	}
}

// introspectionCost is roughly what the whole schema has.
var introspectionCost = map[string]int{"__schema": 5000, "__type": 500, "__typename": 1}

// times returns how often the selections of a field may stand in the answer.
func (m *meter) times(f *ast.Field) int {
	switch f.Name {
	case "devices":
		return 20 // their number is not asked for here, and rarely larger
	case "attributes", "commands":
		if m.number != "" {
			return 1 // it is refused anyway
		}
		if f.Definition.Arguments.ForName("first") == nil {
			return 1 // the list within a page
		}
		first, err := graphql.UnmarshalInt(f.ArgumentMap(m.variables)["first"])
		if err != nil {
			return maxPage
		}
		return min(max(first, 1), maxPage)
	}
	return 1
}
