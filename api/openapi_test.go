package api

import (
	"bytes"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/hub/hubtest"
	"github.com/polygate/gateway/internal/frontendtest"
)

// description is the OpenAPI file with its schemas ready to judge answers.
type description struct {
	*testing.T
	root     map[string]any
	compiler *jsonschema.Compiler
	seen     map[string]bool // operation and status of answers that were judged
}

func readDescription(t *testing.T) *description {
	t.Helper()
	data, err := os.ReadFile("static/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	root, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	if err := compiler.AddResource("file:///openapi.json", root); err != nil {
		t.Fatal(err)
	}
	return &description{t, root.(map[string]any), compiler, map[string]bool{}}
}

// judge checks JSON against the schema at a place in the file.
func (d *description) judge(place, text string) {
	d.Helper()
	schema, err := d.compiler.Compile("file:///openapi.json#" + place)
	if err != nil {
		d.Fatalf("the schema at %s: %v", place, err)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		d.Fatalf("not JSON: %v: %s", err, text)
	}
	if err := schema.Validate(value); err != nil {
		d.Errorf("%s\nis not what %s says: %v", text, place, err)
	}
}

// judgeReply checks an answer against what its operation says of its status.
func (d *description) judgeReply(path string, r reply) {
	d.Helper()
	method := strings.ToLower(r.Request.Method)
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	responses := "/paths/" + escape.Replace(path) + "/" + method + "/responses"
	list, ok := d.at(responses).(map[string]any)
	if !ok {
		d.Fatalf("%s %s is not described", method, path)
	}
	status := r.Status[:3]
	if list[status] == nil {
		d.Errorf("%s %s: the status %s is not described: %s", method, path, status, r.text)
		return
	}
	place := responses + "/" + status
	if ref, ok := list[status].(map[string]any)["$ref"].(string); ok {
		place = strings.TrimPrefix(ref, "#")
	}
	contentType, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	content := place + "/content/" + escape.Replace(contentType) + "/schema"
	if d.at(content) == nil {
		d.Errorf("%s %s %s: the type %q is not described", method, path, status, contentType)
		return
	}
	d.judge(content, r.text)
	d.seen[method+" "+path+" "+status] = true
}

// at returns what stands at a JSON pointer, or nil.
func (d *description) at(pointer string) any {
	var v any = d.root
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		object, _ := v.(map[string]any)
		v = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
	}
	return v
}

func TestEveryRouteIsDescribedAndTheOtherWayRound(t *testing.T) {
	d := readDescription(t)
	described := map[string]bool{}
	for path, item := range d.root["paths"].(map[string]any) {
		for method := range item.(map[string]any) {
			described[strings.ToUpper(method)+" "+path] = true
		}
	}
	parameter := regexp.MustCompile(`:(\w+)`)
	served := map[string]bool{}
	for _, route := range newServer(DefaultConfig(), nil, noLog, defaultLimits()).app.GetRoutes(true) {
		if route.Method != http.MethodHead && strings.HasPrefix(route.Path, "/api/") {
			served[route.Method+" "+parameter.ReplaceAllString(route.Path, "{$1}")] = true
		}
	}
	for route := range served {
		if !described[route] {
			t.Errorf("%s is served and not described", route)
		}
	}
	for route := range described {
		if !served[route] {
			t.Errorf("%s is described and not served", route)
		}
	}
}

func TestEveryReferenceLeadsSomewhere(t *testing.T) {
	d := readDescription(t)
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok && d.at(strings.TrimPrefix(ref, "#")) == nil {
				t.Errorf("%s leads nowhere", ref)
			}
			for _, member := range v {
				walk(member)
			}
		case []any:
			for _, element := range v {
				walk(element)
			}
		}
	}
	walk(d.root)
	codes, _ := d.at("/components/schemas/Problem/properties/code/enum").([]any)
	for _, kind := range gateway.ErrorKinds() {
		if !slices.Contains(codes, any(kind.String())) {
			t.Errorf("the code %s is not described", kind)
		}
	}
	kinds, _ := d.at("/components/schemas/Kind/enum").([]any)
	for _, kind := range gateway.KindNames() {
		if !slices.Contains(kinds, any(kind)) {
			t.Errorf("the kind %s is not described", kind)
		}
	}
}

func TestAnswersAreAsDescribed(t *testing.T) {
	d := readDescription(t)
	w := newWorld(t)
	w.Device.Update(
		hubtest.Change{Path: "oven.actual", Role: gateway.Readback, Value: gateway.Of(nan()), Alarm: gateway.Alarm{Severity: gateway.Major, Status: gateway.StatusHiHi, Text: "hot"}},
		hubtest.Change{Path: "oven.mode", Role: gateway.Readback, Value: gateway.EnumOf(1)},
		hubtest.Change{Path: "oven.grid", Role: gateway.Readback, Value: gateway.ArrayOf([]int32{1, 2, 3, 4, 5, 6})},
		hubtest.Change{Path: "oven.raw", Role: gateway.Setpoint, Value: gateway.BytesOf([]byte{0, 1})},
		hubtest.Change{Path: "oven.text", Role: gateway.Setpoint, Value: gateway.Of("x"), Alarm: gateway.Alarm{Severity: gateway.Invalid, Status: gateway.StatusWrite}},
	)
	w.Settle()
	const attributes, attribute, commands, command = "/api/v1/attributes", "/api/v1/attributes/{name}", "/api/v1/commands", "/api/v1/commands/{name}"
	evil := []string{"Host", "evil.example"}
	get := func(path string, headers ...string) reply { return w.do(http.MethodGet, path, "", headers...) }
	put := func(name, value string, headers ...string) reply {
		return w.do(http.MethodPut, attributes+"/"+name, value, headers...)
	}
	post := func(name, value string, headers ...string) reply {
		return w.do(http.MethodPost, commands+"/"+name, value, headers...)
	}
	for _, name := range []string{"actual", "ramp", "free", "mode", "count", "text", "raw", "wave", "grid", "secret", "flag"} {
		d.judgeReply(attribute, get(attributes+"/oven."+name))
	}
	for _, query := range []string{"", "?ints=string", "?limit=1", "?descriptor=false", "?limit=0"} {
		d.judgeReply(attributes, get(attributes+query))
		d.judgeReply(commands, get(commands+query))
	}
	for _, query := range []string{"", "?ints=x"} {
		d.judgeReply(attribute, get(attributes+"/oven.ramp"+query))
		d.judgeReply(command, get(commands+"/oven.move"+query))
		d.judgeReply(attribute, put("oven.ramp"+query, "1"))
		d.judgeReply(command, post("oven.move"+query, "1"))
	}
	for _, r := range []reply{put("oven.mode", "On"), put("oven.secret", "1"), put("oven.no", "1"), put("oven.actual", "1"), put("oven.ramp", "99"), put("oven.text", strings.Repeat("x", 101)), put("oven.ramp", "1", evil...), get(attributes + "/oven.no"), get(attributes+"/oven.no", evil...)} {
		d.judgeReply(attribute, r)
	}
	refresh := func(name string, headers ...string) {
		d.judgeReply(attribute+"/refresh", w.do(http.MethodPost, attributes+"/"+strings.Replace(name, "?", "/refresh?", 1), "", headers...))
	}
	for _, name := range []string{"oven.ramp?", "oven.ramp?mode=loud", "oven.no?", "oven.secret?"} {
		refresh(name)
	}
	refresh("oven.ramp?", evil...)
	for _, r := range []reply{post("oven.cancel", ""), post("oven.no", ""), post("oven.cancel", "1"), post("oven.move", strings.Repeat("1", 5<<20)), post("oven.cancel", "", evil...), get(commands + "/oven.no"), get(commands+"/oven.no", evil...)} {
		d.judgeReply(command, r)
	}
	d.judgeReply(attributes, get(attributes, evil...))
	d.judgeReply(commands, get(commands, evil...))
	for _, path := range []string{"/api/v1/devices", "/api/v1/openapi.json", "/api/v1/stream", "/api/v1/ws"} {
		d.judgeReply(path, get(path, evil...))
	}
	d.judgeReply("/api/v1/devices/{name}", get("/api/v1/devices/oven", evil...))
	d.judgeReply("/api/v1/devices/{name}", get("/api/v1/devices/oven"))
	d.judgeReply("/api/v1/devices/{name}", get("/api/v1/devices/kettle"))
	d.judgeReply("/api/v1/openapi.json", get("/api/v1/openapi.json"))
	d.judgeReply("/api/v1/stream", get("/api/v1/stream?role=x"))
	d.judgeReply("/api/v1/stream", get("/api/v1/stream?match=oven.secret&role=readback"))
	d.judgeReply("/api/v1/ws", get("/api/v1/ws"))
	d.judgeReply("/api/v1/ws", get("/api/v1/ws?ints=x"))
	for _, kind := range []gateway.ErrorKind{gateway.KindRefusedByDevice, gateway.KindBusy, gateway.KindExpired, gateway.KindUnknownOutcome} {
		w.Device.OnPut(func(d *hubtest.Device, p *gateway.Put) {
			d.Finish(p, gateway.Verdict{Stage: gateway.StageAccepted, Err: &gateway.Error{Kind: kind, Stage: gateway.StageAccepted, DeviceWords: "no"}})
		})
		d.judgeReply(attribute, put("oven.ramp", "1"))
		d.judgeReply(command, post("oven.cancel", ""))
		refresh("oven.ramp?")
	}
	w.Device.OnPut(nil)
	w.Device.SetState(false, "unplugged")
	w.Settle()
	d.judgeReply("/api/v1/devices", get("/api/v1/devices"))
	d.judgeReply(attributes, get(attributes))
	w.server.streams.limit = 0
	d.judgeReply("/api/v1/stream", get("/api/v1/stream"))
	d.judgeReply("/api/v1/ws", get("/api/v1/ws"))
	w.server.cfg.Connections = 0
	for path, r := range map[string]reply{attributes: get(attributes), attribute: get(attributes + "/oven.ramp"), commands: get(commands), command: get(commands + "/oven.move"), "/api/v1/devices": get("/api/v1/devices"), "/api/v1/devices/{name}": get("/api/v1/devices/oven"), "/api/v1/openapi.json": get("/api/v1/openapi.json")} {
		d.judgeReply(path, r)
	}
	d.wantAllSeen()
}

// wantAllSeen checks that every answer that is described has been judged, but
// for streams, which have a test of their own.
func (d *description) wantAllSeen() {
	d.Helper()
	for path, item := range d.root["paths"].(map[string]any) {
		for method, operation := range item.(map[string]any) {
			for status := range operation.(map[string]any)["responses"].(map[string]any) {
				stream := status == "101" || status == "200" && path == "/api/v1/stream"
				if key := method + " " + path + " " + status; status != "default" && !stream && !d.seen[key] {
					d.Errorf("%s is described and was never seen", key)
				}
			}
		}
	}
}

func TestEventsAndMessagesAreAsDescribed(t *testing.T) {
	d := readDescription(t)
	w := newWorld(t)
	r, p := w.sse("match=oven.*&cursor=1-1"), w.socket("", nil)
	say := func(message string) {
		d.judge("/components/schemas/ClientMessage", message)
		p.say(message)
	}
	say(`{"type":"watch","id":"w","match":"oven.*","role":"both","changes":"value,alarm","every":true,"max_rate":1000,"cursor":"1-1"}`)
	say(`{"type":"get","id":"g","name":"oven.ramp"}`)
	say(`{"type":"put","id":"p","name":"oven.mode","value":"On","mode":"latest","budget":"1s","urgent":true}`)
	say(`{"type":"execute","id":"e","name":"oven.move","value":1}`)
	say(`{"type":"put","id":"x","name":"oven.ramp","value":99}`)
	types := map[string]bool{}
	hearTypes := func(n int) {
		for len(types) < n {
			m := p.hear()
			d.judge("/components/schemas/ServerMessage", m)
			types[w.member(m, "type")] = true
		}
	}
	hearTypes(4) // events, attribute, verdict, error
	w.Set("oven.actual", gateway.Of(nan()))
	w.Device.SetState(false, "unplugged")
	w.Settle()
	descriptors := frontendtest.OvenDescriptors()
	changed := *descriptors[0]
	changed.Revision, changed.Description = 2, "changed"
	w.Device.Redescribe(append([]*gateway.Descriptor{&changed}, descriptors[2:]...)...)
	w.Settle()
	seen := map[string]bool{}
	for len(seen) < 7 {
		e := r.next()
		d.judge("/components/schemas/Event", e.data)
		if w.member(e.data, "event") != e.event {
			t.Errorf("%+v", e)
		}
		seen[e.event] = true
	}
	say(`{"type":"unwatch","id":"w"}`)
	hearTypes(5)
}
