package graph

import (
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/hub/hubtest"
)

const typed = `{ value text number integer boolean label index list }`

func TestTypedFieldsOfEachKind(t *testing.T) {
	w := newWorld(t)
	for _, x := range []struct {
		path  gateway.Path
		value gateway.Value
		want  string
	}{
		{"oven.actual", gateway.Of(0.1), `{"value":0.1,"text":"0.1","number":0.1,"integer":null,"boolean":null,"label":null,"index":null,"list":null}`},
		{"oven.count", gateway.Of(int64(-9007199254740993)), `{"value":-9007199254740993,"text":"-9007199254740993","number":-9007199254740992,"integer":"-9007199254740993","boolean":null,"label":null,"index":null,"list":null}`},
		{"oven.total", gateway.Of(uint64(math.MaxUint64)), `{"value":18446744073709551615,"text":"18446744073709551615","number":18446744073709551616,"integer":"18446744073709551615","boolean":null,"label":null,"index":null,"list":null}`},
		{"oven.mode", gateway.EnumOf(1), `{"value":"On","text":"On","number":1,"integer":null,"boolean":null,"label":"On","index":1,"list":null}`},
		{"oven.flag", gateway.Of(true), `{"value":true,"text":"true","number":1,"integer":null,"boolean":true,"label":null,"index":null,"list":null}`},
		{"oven.text", gateway.Of("<gr\u00fcn>\n\""), `{"value":"\u003cgr` + "\u00fc" + `n\u003e\n\"","text":"<gr` + "\u00fc" + `n>\n\"","number":null,"integer":null,"boolean":null,"label":null,"index":null,"list":null}`},
		{"oven.raw", gateway.BytesOf([]byte{0, 255, 16}), `{"value":"AP8Q","text":"AP8Q","number":null,"integer":null,"boolean":null,"label":null,"index":null,"list":null}`},
		{"oven.wave", gateway.ArrayOf([]float64{1, nan(), 3}), `{"value":[1,"NaN",3],"text":"[1,\"NaN\",3]","number":null,"integer":null,"boolean":null,"label":null,"index":null,"list":[1,"NaN",3]}`},
		{"oven.grid", gateway.ArrayOf([]int32{1, 2, 3, 4, 5, 6}), `{"value":[[1,2,3],[4,5,6]],"text":"[[1,2,3],[4,5,6]]","number":null,"integer":null,"boolean":null,"label":null,"index":null,"list":[1,2,3,4,5,6]}`},
	} {
		w.Set(x.path, x.value)
		r := w.ask(`query($n: String!) { attribute(name: $n) { readback `+typed+` } }`, fmt.Sprintf(`{"n":%q}`, x.path))
		got := member(t, member(t, member(t, r.text, "data"), "attribute"), "readback")
		if !sameMeaning(t, got, x.want) {
			t.Errorf("%s\n got %s\nwant %s", x.path, got, x.want)
		}
	}
	w.want(`{ attribute(name: "oven.ramp") { readback `+typed+` } }`, "",
		`{"attribute":{"readback":{"value":null,"text":null,"number":null,"integer":null,"boolean":null,"label":null,"index":null,"list":null}}}`)
}

// sameMeaning compares JSON as text, except that a Float may be written in either form.
func sameMeaning(t *testing.T, got, want string) bool {
	t.Helper()
	for _, form := range []string{"-9.007199254740992e+15", "-9.007199254740992e15"} {
		got = strings.ReplaceAll(got, form, "-9007199254740992")
	}
	for _, form := range []string{"1.8446744073709552e+19", "1.8446744073709552e19"} {
		got = strings.ReplaceAll(got, form, "18446744073709551616")
	}
	return got == compact(t, want)
}

func TestWEB02NaNAndInfinities(t *testing.T) {
	w := newWorld(t)
	for _, x := range []struct {
		value float64
		json  string
	}{{nan(), `"NaN"`}, {math.Inf(1), `"Infinity"`}, {math.Inf(-1), `"-Infinity"`}} {
		w.Set("oven.actual", gateway.Of(x.value))
		w.want(`{ attribute(name: "oven.actual") { readback { value number } } }`, "",
			`{"attribute":{"readback":{"value":`+x.json+`,"number":null}}}`)
		r := w.ask(`{ attributes(match: "oven.*") { attributes { name readback { value number } } } }`, "")
		if !strings.Contains(r.text, `"value":`+x.json) || !strings.Contains(r.text, "oven.flag") || strings.Contains(r.text, `"errors":`) {
			t.Errorf("the list suffers: %s", r.text)
		}
		// The same form is taken.
		w.want(`mutation($v: Value!) { put(name: "oven.wave", value: $v) { readback { value } } }`, `{"v":[1,`+x.json+`]}`,
			`{"put":{"readback":{"value":[1,`+x.json+`]}}}`)
	}
}

func TestWEB04IntegersStayExact(t *testing.T) {
	w := newWorld(t)
	const big = "9007199254740993"
	for _, form := range []string{big, `"` + big + `"`} {
		w.want(`mutation($v: Value!) { put(name: "oven.count", value: $v) { readback { integer value } } }`, `{"v":`+form+`}`,
			`{"put":{"readback":{"integer":"`+big+`","value":`+big+`}}}`)
		w.want(`mutation { put(name: "oven.count", value: `+form+`) { readback { integer } } }`, "",
			`{"put":{"readback":{"integer":"`+big+`"}}}`)
	}
	const most = "18446744073709551615"
	w.want(`mutation($v: Value!) { put(name: "oven.total", value: $v) { setpoint { integer } } }`, `{"v":`+most+`}`,
		`{"put":{"setpoint":{"integer":"`+most+`"}}}`)
	w.want(`mutation { put(name: "oven.total", value: "`+most+`") { setpoint { integer } } }`, "",
		`{"put":{"setpoint":{"integer":"`+most+`"}}}`)
}

func TestDescriptorsInFull(t *testing.T) {
	w := newWorld(t)
	w.want(`{ attribute(name: "oven.ramp") { device descriptor {
		kind access description units precision shape maxLength states { label } control { low high } display { low high }
		alarmLevels { lolo { value } high { value severity } hysteresis } deadband always poll annotations { key value } argument { kind }
	} } }`, "", `{"attribute":{"device":"oven","descriptor":{"kind":"FLOAT64","access":"READ_WRITE","description":"How fast the oven heats",
		"units":"K/s","precision":3,"shape":null,"maxLength":null,"states":[],"control":{"low":-10,"high":10},"display":{"low":null,"high":null},
		"alarmLevels":{"lolo":null,"high":{"value":8,"severity":"MINOR"},"hysteresis":0},"deadband":0,"always":false,"poll":0.2,
		"annotations":[{"key":"ca.name","value":"OVEN:Ramp"}],"argument":null}}}`)
	w.want(`{ attribute(name: "oven.mode") { descriptor { kind states { index label raw severity } } } }`, "",
		`{"attribute":{"descriptor":{"kind":"ENUM","states":[{"index":0,"label":"Off","raw":null,"severity":"NO_ALARM"},
		{"index":1,"label":"On","raw":"1","severity":"NO_ALARM"},{"index":2,"label":"Fault","raw":null,"severity":"MAJOR"}]}}}`)
	w.want(`{ command(name: "oven.move") { running descriptor { access argument { kind units precision control { low } } result { kind maxLength } } } }`, "",
		`{"command":{"running":false,"descriptor":{"access":"EXECUTE","argument":{"kind":"FLOAT64","units":"mm","precision":null,"control":{"low":null}},"result":{"kind":"STRING","maxLength":1024}}}}`)
	w.want(`{ attribute(name: "oven.grid") { descriptor { shape } } b: attribute(name: "oven.text") { descriptor { maxLength } } }`, "",
		`{"attribute":{"descriptor":{"shape":[4,3]}},"b":{"descriptor":{"maxLength":100}}}`)
}

// CA-34: a limit that is not set is null, not zero and not NaN.
func TestCA34UnsetLimitsAreNull(t *testing.T) {
	w := newWorld(t)
	w.want(`{ attribute(name: "oven.count") { descriptor { control { low high } display { low high } alarmLevels { lolo { value } low { value } high { value } hihi { value } } } } }`, "",
		`{"attribute":{"descriptor":{"control":{"low":null,"high":null},"display":{"low":null,"high":null},"alarmLevels":{"lolo":null,"low":null,"high":null,"hihi":null}}}}`)
}

func TestListsPagesAndFilters(t *testing.T) {
	w := newWorld(t)
	other := hubtest.NewDevice(w.Bus, "bath", hubtest.Float("bath.level", gateway.AccessRead), hubtest.Float("bath.flow", gateway.AccessRead))
	other.Set("bath.flow", gateway.Of(1.0))
	other.Update(hubtest.Change{Path: "bath.level", Role: gateway.Readback, Value: gateway.Of(2.0), Alarm: gateway.Alarm{Severity: gateway.Major, Status: gateway.StatusHiHi}})
	w.Settle()
	w.want(`{ attributes(device: "bath") { attributes { name alarm { severity status } } next } }`, "",
		`{"attributes":{"attributes":[{"name":"bath.flow","alarm":{"severity":"NO_ALARM","status":"NO_ALARM"}},{"name":"bath.level","alarm":{"severity":"MAJOR","status":"HIHI"}}],"next":null}}`)
	w.want(`{ attributes(severity: [MAJOR, MINOR]) { attributes { name } } }`, "", `{"attributes":{"attributes":[{"name":"bath.level"}]}}`)
	w.want(`{ attributes(match: "*.level", device: "oven") { attributes { name } } }`, "", `{"attributes":{"attributes":[]}}`)
	w.want(`{ commands { commands { name } next } }`, "", `{"commands":{"commands":[{"name":"oven.cancel"},{"name":"oven.move"}],"next":null}}`)
	w.want(`{ devices { name size attributes(first: 1) { attributes { name } next } commands { commands { name } } } }`, "",
		`{"devices":[{"name":"bath","size":2,"attributes":{"attributes":[{"name":"bath.flow"}],"next":"bath.flow"},"commands":{"commands":[]}},
		{"name":"oven","size":14,"attributes":{"attributes":[{"name":"oven.actual"}],"next":"oven.actual"},"commands":{"commands":[{"name":"oven.cancel"},{"name":"oven.move"}]}}]}`)

	// Page by page it is the same as at once.
	var names []string
	after := "null"
	for pages := 0; after != ""; pages++ {
		if pages > 20 {
			t.Fatal("paging does not end")
		}
		r := w.ask(`query($a: String) { attributes(first: 3, after: $a) { attributes { name } next } }`, `{"a":`+after+`}`)
		page := member(t, member(t, r.text, "data"), "attributes")
		for part := range strings.SplitSeq(member(t, page, "attributes"), `"name":"`) {
			if name, _, ok := strings.Cut(part, `"`); ok && strings.Contains(name, ".") {
				names = append(names, name)
			}
		}
		if after = member(t, page, "next"); after == "null" {
			after = ""
		}
	}
	if len(names) != 14 || names[0] != "bath.flow" || names[13] != "oven.wave" {
		t.Errorf("pages have %v", names)
	}
	w.wantError(`{ attributes(first: 0) { next } }`, "", "malformed")
	w.wantError(`{ attributes(first: 1001) { next } }`, "", "malformed")
	w.wantError(`{ attributes(match: "a.>.b") { next } }`, "", "malformed")
	w.wantError(`{ attributes(device: "*") { next } }`, "", "malformed")
}

func TestLargeValuesEndAPageEarly(t *testing.T) {
	w := newWorld(t)
	d := make([]*gateway.Descriptor, 8)
	for i := range d {
		d[i] = &gateway.Descriptor{Path: gateway.Path(fmt.Sprintf("cam.i%d", i)), Traits: &gateway.Traits{Access: gateway.AccessRead, Type: gateway.Type{Kind: gateway.Float64, Shape: []int{50000}}}}
	}
	cam := hubtest.NewDevice(w.Bus, "cam", d...)
	for _, x := range d {
		cam.Set(x.Path, gateway.ArrayOf(make([]float64, 50000)))
	}
	w.Settle()
	w.want(`{ attributes(device: "cam") { attributes { name } next } }`, "",
		`{"attributes":{"attributes":[{"name":"cam.i0"},{"name":"cam.i1"},{"name":"cam.i2"}],"next":"cam.i2"}}`)
}

func TestWhatDoesNotExist(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"oven.nosuch", "nodevice.x", "oven", "", "..", "oven..ramp", "oven.ramp/", "OVEN.ramp", strings.Repeat("a.", 300) + "a", "oven.cancel"} {
		w.wantError(`query($n: String!) { attribute(name: $n) { name } }`, fmt.Sprintf(`{"n":%q}`, name), "not_found", "name", gateway.Quotable(name))
	}
	w.wantError(`{ command(name: "oven.ramp") { name } }`, "", "not_found")
	w.wantError(`{ device(name: "nodevice") { name } }`, "", "not_found", "name", "nodevice")
	// One that is missing does not take the others away.
	r := w.ask(`{ a: attribute(name: "oven.nosuch") { name } b: attribute(name: "oven.ramp") { name } }`, "")
	if got := member(t, r.text, "data"); got != `{"a":null,"b":{"name":"oven.ramp"}}` || r.StatusCode != http.StatusOK {
		t.Errorf("status %d, %s", r.StatusCode, r.text)
	}
}

func TestWEB16LostDeviceIsShown(t *testing.T) {
	w := newWorld(t)
	w.Set("oven.actual", gateway.Of(7.0))
	w.Device.SetState(false, "unplugged")
	w.Settle()
	w.want(`{ attribute(name: "oven.actual") { readback { value availability alarm { severity status text } } availability { state words } } device(name: "oven") { availability { state words } } }`, "",
		`{"attribute":{"readback":{"value":7,"availability":"DISCONNECTED","alarm":{"severity":"INVALID","status":"COMM","text":"unplugged"}},"availability":{"state":"DISCONNECTED","words":"unplugged"}},"device":{"availability":{"state":"DISCONNECTED","words":"unplugged"}}}`)
}

func TestRequestsByGET(t *testing.T) {
	w := newWorld(t)
	get := func(values url.Values, headers ...string) reply {
		t.Helper()
		return w.do(http.MethodGet, "/graphql?"+values.Encode(), "", headers...)
	}
	r := get(url.Values{"query": {`query A($n: String!) { attribute(name: $n) { name } } query B { devices { name } }`}, "operationName": {"A"}, "variables": {`{"n":"oven.ramp"}`}})
	if member(t, r.text, "data") != `{"attribute":{"name":"oven.ramp"}}` {
		t.Error(r.text)
	}
	r = get(url.Values{"query": {`mutation { execute(name: "oven.cancel") { stage } }`}})
	w.wantCode(r, "malformed")
	if r.StatusCode != http.StatusMethodNotAllowed || r.Header.Get("Allow") != "POST" || len(w.Device.Puts()) != 0 {
		t.Errorf("a mutation by GET: status %d, %d puts", r.StatusCode, len(w.Device.Puts()))
	}
	r = get(url.Values{"query": {`{ devices { name } }`}, "variables": {`{`}})
	w.wantCode(r, "malformed")
	r = get(url.Values{"query": {`subscription { updates { cursor } }`}})
	w.wantCode(r, "malformed")
	if r.StatusCode != http.StatusBadRequest {
		t.Errorf("a subscription without a stream: status %d", r.StatusCode)
	}
	r = get(nil, "Accept", jsonType)
	w.wantCode(r, "GRAPHQL_VALIDATION_FAILED")
}

func TestPersistedQueries(t *testing.T) {
	w := newWorld(t)
	// The SHA-256 of the query, by sha256sum.
	const extensions = `"extensions":{"persistedQuery":{"version":1,"sha256Hash":"c22c86bd7ba77484d702006356579280c6a64d18e8be3adc000956d09a5a4f32"}}`
	post := func(body string) reply {
		return w.do(http.MethodPost, "/graphql", body, "Content-Type", jsonType)
	}
	w.wantCode(post(`{`+extensions+`}`), "PERSISTED_QUERY_NOT_FOUND")
	for _, body := range []string{`{"query":"{ devices { name } }",` + extensions + `}`, `{` + extensions + `}`} {
		if r := post(body); member(t, r.text, "data") != `{"devices":[{"name":"oven"}]}` {
			t.Errorf("%s: %s", body, r.text)
		}
	}
	w.wantCode(post(`{"query":"{ devices { size } }",`+extensions+`}`), "GRAPHQL_VALIDATION_FAILED")
}
