package graph

import (
	"encoding/json"
	"testing"

	"github.com/99designs/gqlgen/graphql"
	"github.com/rs/zerolog"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/internal/frontendtest"
)

// FuzzRequest has any text as the body of a request: a refusal or an answer, in
// JSON, and no fault of ours.
func FuzzRequest(f *testing.F) {
	for _, text := range []string{
		`{"query":"{ devices { name } }"}`,
		`{"query":"mutation($v: Value!) { put(name: \"rig.target\", value: $v, budget: 0.01) { stage readback { text list } } }","variables":{"v":[1,{"a":"NaN"}]}}`,
		`{"query":"query A($n: Int) { attributes(first: $n) { ...f } } fragment f on AttributePage { next attributes { name @skip(if: true) } }","operationName":"A","variables":{"n":2}}`,
		`{"query":"subscription { updates(match: \"rig.*\", roles: [SETPOINT]) { batch } }"}`,
		`{"query":"{ __schema { types { name } } }","extensions":{"persistedQuery":{"version":1,"sha256Hash":"x"}}}`,
		`{"query":"mutation { execute(name: \"rig.reset\", argument: {a: [9223372036854775808]}) { stage } }"}`,
	} {
		f.Add([]byte(text))
	}
	w := frontendtest.NewScripted(f)
	s := New(DefaultConfig(), w.View, zerolog.Nop())
	session := w.View.For(gateway.Caller{Protocol: protocol})
	f.Fuzz(func(t *testing.T, data []byte) {
		params := &graphql.RawParams{}
		if decode(data, params) != nil {
			return
		}
		ctx := withSession(t.Context(), session)
		op, response := s.prepare(ctx, params)
		if response == nil {
			response = s.run(ctx, op)
		}
		out := appendResponse(nil, response)
		if !json.Valid(out) {
			t.Errorf("not JSON: %s", out)
		}
		for _, e := range response.Errors {
			if e.Extensions["code"] == "internal" {
				t.Errorf("a fault: %s", out)
			}
		}
	})
}
