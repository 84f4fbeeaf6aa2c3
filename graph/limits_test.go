package graph

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/polygate/gateway"
)

// Each of these is refused at once, and says why.
func TestAbsurdQueries(t *testing.T) {
	w := newWorld(t)
	bomb := `{ ...f0 }`
	for i := range 60 {
		bomb += fmt.Sprintf(` fragment f%d on Query { ...f%d ...f%d }`, i, i+1, i+1)
	}
	bomb += ` fragment f60 on Query { devices { name } }`
	for name, x := range map[string]struct{ query, code string }{
		"nothing":             {``, "GRAPHQL_VALIDATION_FAILED"},
		"no operation":        {`fragment f on Query { devices { name } }`, "GRAPHQL_VALIDATION_FAILED"},
		"broken":              {`{ devices { `, "GRAPHQL_PARSE_FAILED"},
		"unknown field":       {`{ device(name: "oven") { nosuch } }`, "GRAPHQL_VALIDATION_FAILED"},
		"unknown argument":    {`{ device(nosuch: "oven") { name } }`, "GRAPHQL_VALIDATION_FAILED"},
		"unknown enum":        {`{ attributes(severity: [TERRIBLE]) { next } }`, "GRAPHQL_VALIDATION_FAILED"},
		"wrong type":          {`{ attributes(first: "many") { next } }`, "GRAPHQL_VALIDATION_FAILED"},
		"missing argument":    {`{ device { name } }`, "GRAPHQL_VALIDATION_FAILED"},
		"no selection":        {`{ devices }`, "GRAPHQL_VALIDATION_FAILED"},
		"circle":              {`{ ...a } fragment a on Query { ...b } fragment b on Query { ...a }`, "GRAPHQL_VALIDATION_FAILED"},
		"many words":          {`{ ` + strings.Repeat("devices{name}", maxTokens/4+1) + `}`, "GRAPHQL_PARSE_FAILED"},
		"long":                {`{ devices { name } } #` + strings.Repeat("x", maxQuery), "too_large"},
		"deep":                {`{ devices { ` + strings.Repeat(`attributes { attributes { name `, 7) + strings.Repeat(`} }`, 7) + ` } }`, "GRAPHQL_VALIDATION_FAILED"},
		"brackets":            {strings.Repeat("{a", 3000), "GRAPHQL_PARSE_FAILED"},
		"lists":               {`{ attributes(severity: ` + strings.Repeat("[", 3000), "GRAPHQL_PARSE_FAILED"},
		"many aliases":        {`{ ` + aliases(maxAliases+1) + ` }`, "too_large"},
		"wide":                {`{ devices { attributes(first: 1000) { attributes { name device readback { value time seq text } setpoint { value time seq text } alarm { status } } } } }`, "too_large"},
		"fragments of them":   {bomb, "too_large"},
		"many introspections": {`{ ` + introspections(60) + ` }`, "too_large"},
		"deferred":            {`{ devices { name ... @defer { size } } }`, "too_large"},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			r := w.ask(x.query, "")
			w.wantCode(r, x.code)
			if took := time.Since(began); took > patience/2 {
				t.Errorf("it took %v to refuse that", took)
			}
		})
	}
	w.want(`{ device(name: "oven") { name } }`, "", `{"device":{"name":"oven"}}`)
}

func aliases(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `a%d: __typename `, i)
	}
	return b.String()
}

func introspections(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `a%d: __schema { types { name } } `, i)
	}
	return b.String()
}

func TestCostCountsPagesFromVariables(t *testing.T) {
	w := newWorld(t)
	const wide = `query($n: Int!) { devices { attributes(first: $n) { attributes { name device readback { value time seq text } setpoint { value time seq text } } } } }`
	w.wantError(wide, `{"n":1000}`, "too_large")
	if r := w.ask(wide, `{"n":10}`); strings.Contains(r.text, `"errors":`) {
		t.Error(r.text)
	}
}

func TestIntrospectionIsOn(t *testing.T) {
	w := newWorld(t)
	r := w.ask(`{ __schema { queryType { name } types { name description fields { name description args { name type { name kind ofType { name kind ofType { name kind ofType { name } } } } } } } } }`, "")
	if !strings.Contains(r.text, "The full name of the attribute") || strings.Contains(r.text, `"errors":`) {
		t.Errorf("%.300s", r.text)
	}
}

// TestSchemaExplainsEverything looks for a type, field, argument or state without a word.
func TestSchemaExplainsEverything(t *testing.T) {
	w := newWorld(t)
	r := w.ask(`{ __schema { types { name description fields { name description args { name description } } inputFields { name description } enumValues { name } } } }`, "")
	var answer struct {
		Data struct {
			Schema struct {
				Types []struct {
					Name, Description   string
					Fields, InputFields []struct {
						Name, Description string
						Args              []struct{ Name, Description string }
					}
				}
			} `json:"__schema"`
		}
	}
	if err := json.Unmarshal([]byte(r.text), &answer); err != nil || len(answer.Data.Schema.Types) < 20 {
		t.Fatalf("%v: %.300s", err, r.text)
	}
	for _, typ := range answer.Data.Schema.Types {
		if strings.HasPrefix(typ.Name, "__") {
			continue
		}
		if typ.Description == "" {
			t.Errorf("%s is not explained", typ.Name)
		}
		for _, field := range append(typ.Fields, typ.InputFields...) {
			if field.Description == "" {
				t.Errorf("%s.%s is not explained", typ.Name, field.Name)
			}
			for _, arg := range field.Args {
				if arg.Description == "" {
					t.Errorf("%s.%s(%s) is not explained", typ.Name, field.Name, arg.Name)
				}
			}
		}
	}
}

func TestWhatIsNoOperationIsCalledByJSONsNames(t *testing.T) {
	w := newWorld(t)
	for body, want := range map[string]string{
		`[{"query":"{ devices { name } }"}]`: `want an object with \"query\": it is of type array`,
		`{"query":1}`:                        `want an object with \"query\": \"query\" is of type number`,
	} {
		r := w.do("POST", "/graphql", body, "Content-Type", jsonType)
		if !strings.Contains(r.text, want) {
			t.Errorf("%s: %s, want %s", body, r.text, want)
		}
	}
}

func TestRequestsThatCannotBeRead(t *testing.T) {
	w := newWorld(t, func(c *Config, _ *limits) { c.MaxBody = 10000 })
	for _, x := range []struct {
		method, path, body string
		headers            []string
		status             int
		code               string
	}{
		{"POST", "/graphql", `{"query":`, []string{"Content-Type", jsonType}, 400, "malformed"},
		{"POST", "/graphql", `[{"query":"{ devices { name } }"}]`, []string{"Content-Type", jsonType}, 400, "malformed"},
		{"POST", "/graphql", `{"query":1}`, []string{"Content-Type", jsonType}, 400, "malformed"},
		{"POST", "/graphql", `{"query":"{ devices { name } }"} {}`, []string{"Content-Type", jsonType}, 400, "malformed"},
		{"POST", "/graphql", ``, []string{"Content-Type", jsonType}, 400, "malformed"},
		{"POST", "/graphql", `{"query":"` + strings.Repeat("x", 10000) + `"}`, []string{"Content-Type", jsonType}, 413, "too_large"},
		{"POST", "/graphql", `query=1`, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, "malformed"},
		{"POST", "/graphql", `{}`, nil, 415, "malformed"},
		{"POST", "/graphql", `{}`, []string{"Content-Type", jsonType, "Content-Encoding", "gzip"}, 415, "malformed"},
		{"PUT", "/graphql", ``, nil, 405, "malformed"},
		{"POST", "/", ``, nil, 405, "malformed"},
		{"GET", "/nosuch", ``, nil, 404, "not_found"},
		{"GET", "/explorer.nosuch", ``, nil, 404, "not_found"},
		{"GET", "/graphql/", ``, nil, 404, "not_found"},
		{"POST", "/graphql", `{}`, []string{"Host", "rebound.example"}, 403, "denied"},
		{"POST", "/graphql", `{}`, []string{"Origin", "http://evil.example", "Content-Type", jsonType}, 403, "denied"},
		{"GET", "/graphql", ``, []string{"Origin", "http://evil.example", "Upgrade", "websocket", "Connection", "Upgrade"}, 403, "denied"},
	} {
		r := w.do(x.method, x.path, x.body, x.headers...)
		if r.StatusCode != x.status {
			t.Errorf("%s %s %.60s: status %d, want %d", x.method, x.path, x.body, r.StatusCode, x.status)
		}
		w.wantCode(r, x.code)
	}
}

func TestStatusOfFailedOperations(t *testing.T) {
	w := newWorld(t)
	for accept, want := range map[string]int{"": 200, jsonType: 200, responseType: 400, "application/graphql-response+json, application/json;q=0.9": 400} {
		r := w.ask(`{ nosuch }`, "", "Accept", accept)
		if r.StatusCode != want {
			t.Errorf("Accept %q: status %d, want %d", accept, r.StatusCode, want)
		}
	}
	r := w.ask(`{ devices { name } }`, "", "Accept", responseType)
	if got := r.Header.Get("Content-Type"); !strings.HasPrefix(got, responseType) || r.StatusCode != http.StatusOK {
		t.Errorf("status %d, type %q", r.StatusCode, got)
	}
}

func TestCORS(t *testing.T) {
	w := newWorld(t, func(c *Config, _ *limits) { c.Origins = []string{"http://a.example"} })
	r := w.ask(`{ devices { name } }`, "", "Origin", "http://a.example")
	if r.Header.Get("Access-Control-Allow-Origin") != "http://a.example" || r.Header.Get("Vary") != "Origin" {
		t.Errorf("headers %v", r.Header)
	}
	r = w.do(http.MethodOptions, "/graphql", "", "Origin", "http://a.example", "Access-Control-Request-Method", "POST")
	if r.StatusCode != http.StatusNoContent || !strings.Contains(r.Header.Get("Access-Control-Allow-Headers"), "Content-Type") {
		t.Errorf("status %d, headers %v", r.StatusCode, r.Header)
	}
	r = w.do(http.MethodGet, "/graphql?query={devices{name}}", "", "Origin", "http://b.example")
	if r.StatusCode != http.StatusOK || r.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("status %d, headers %v", r.StatusCode, r.Header)
	}
}

func TestTooManyConnectionsAreTold(t *testing.T) {
	w := newWorld(t, func(c *Config, _ *limits) { c.Connections = 1 })
	first := w.socket(transportWS)
	r := w.ask(`{ devices { name } }`, "")
	if w.wantCode(r, "busy"); r.StatusCode != http.StatusServiceUnavailable || !r.Close {
		t.Errorf("status %d, close %v", r.StatusCode, r.Close)
	}
	first.end()
	w.wantStreams(0)
}

func TestABodyThatDoesNotComeIsGivenUp(t *testing.T) {
	w := newWorld(t, func(_ *Config, l *limits) { l.read = 50 * time.Millisecond })
	c := w.raw("POST /graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	if text := readAll(t, c); !strings.HasPrefix(text, "HTTP/1.1 408 ") {
		t.Errorf("got %q", text)
	}
	c = w.raw("GET /graphql HTTP/1.1\r\nHo")
	readAll(t, c) // ends
}

// TestAFaultIsAnswered has the hub panic, as a broken part of ours would.
func TestAFaultIsAnswered(t *testing.T) {
	w := newWorld(t)
	w.server.view = broken{}
	w.wantError(`{ devices { name } }`, "", "internal")
	w.wantError(putValue, `{"n":"oven.ramp","v":1}`, "internal")
	w.want(`mutation { putMany(puts: [{name: "oven.ramp", value: 1}]) { error { code } } }`, "", `{"putMany":[{"error":{"code":"internal"}}]}`)
}

// broken is a view whose sessions are nil.
type broken struct{}

func (broken) For(gateway.Caller) gateway.Session { return nil }
