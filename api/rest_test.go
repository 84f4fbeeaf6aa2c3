package api

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/hub/hubtest"
)

func TestGetShowsReadbackSetpointAndDescriptor(t *testing.T) {
	w := newWorld(t)
	w.Set("oven.ramp", gateway.Of(1.5))
	w.wantOK(w.put("oven.ramp", "2.5"))
	r := w.wantOK(w.get("/attributes/oven.ramp"))
	for place, want := range map[string]string{
		"name": "oven.ramp", "value": "2.5", "setpoint.value": "2.5", "alarm.severity": "NO_ALARM",
		"availability.state": "connected", "descriptor.units": "K/s", "descriptor.precision": "3",
		"descriptor.limits.control_high": "10", "descriptor.access": "rw",
	} {
		if got := w.member(r.text, place); got != want {
			t.Errorf("%s = %s, want %s", place, got, want)
		}
	}
	if got := r.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type %q", got)
	}
	for _, name := range []string{"Cache-Control", "X-Content-Type-Options"} {
		if r.Header.Get(name) == "" {
			t.Errorf("no %s header", name)
		}
	}
	if r.Header.Get("Server") != "" {
		t.Errorf("Server header %q", r.Header.Get("Server"))
	}
	if w.log.Len() > 0 {
		t.Errorf("all was well, and the log says: %s", w.log)
	}
}

func TestNeverReadIsNullAndInvalid(t *testing.T) {
	w := newWorld(t)
	r := w.wantOK(w.get("/attributes/oven.actual"))
	for place, want := range map[string]string{"value": "null", "time": "null", "alarm.severity": "INVALID", "alarm.status": "UDF"} {
		if got := w.member(r.text, place); got != want {
			t.Errorf("%s = %s, want %s", place, got, want)
		}
	}
}

func TestHeadHasTheHeadersOfGet(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{"/api/v1/attributes/oven.ramp", "/api/v1/attributes", "/api/v1/devices/oven", "/", "/docs/", "/api/v1/stream"} {
		r := w.wantOK(w.do(http.MethodHead, path, ""))
		if r.text != "" {
			t.Errorf("HEAD %s has a body", path)
		}
		if strings.HasSuffix(path, "ramp") && r.ContentLength < 100 {
			t.Errorf("HEAD %s: Content-Length %d", path, r.ContentLength)
		}
	}
	w.wantStreams(0)
}

func TestListsArePagedSortedAndComplete(t *testing.T) {
	w := newWorld(t)
	var names []string
	for _, member := range []string{"attributes", "commands"} {
		path, pages := "/api/v1/"+member+"?limit=3&match=oven.>&descriptor=false&ints=string", 0
		for path != "" {
			r := w.wantOK(w.do(http.MethodGet, path, ""))
			var page struct {
				Attributes, Commands []struct {
					Name       string
					Descriptor any
				}
				Next string
			}
			w.decode(r.text, &page)
			for _, a := range append(page.Attributes, page.Commands...) {
				names = append(names, a.Name)
				if a.Descriptor != nil {
					t.Error("a descriptor although none was wanted")
				}
			}
			path, pages = page.Next, pages+1
		}
		if member == "attributes" && pages != 4 {
			t.Errorf("%d pages, want 4", pages)
		}
	}
	want := "oven.actual oven.count oven.flag oven.free oven.grid oven.mode oven.ramp oven.raw oven.secret oven.text oven.total oven.wave oven.cancel oven.move"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("names\n%s, want\n%s", got, want)
	}
	for _, query := range []string{"limit=0", "limit=10001", "limit=x", "match=a..b", "match=>.a", "descriptor=maybe", "ints=octal"} {
		w.wantProblem(w.get("/attributes?"+query), 400, "malformed")
	}
	if r := w.wantOK(w.get("/attributes?match=nobody.*")); r.text != `{"attributes":[]}` {
		t.Errorf("nothing matches: %s", r.text)
	}
}

func TestDevices(t *testing.T) {
	w := newWorld(t)
	w.Device.SetState(false, "unplugged")
	w.Settle()
	r := w.wantOK(w.get("/devices/oven"))
	if w.member(r.text, "state") != "disconnected" || w.member(r.text, "words") != "unplugged" || w.member(r.text, "attributes") != "14" {
		t.Error(r.text)
	}
	if list := w.wantOK(w.get("/devices")); list.text != `{"devices":[`+r.text+`]}` {
		t.Error(list.text)
	}
	w.wantProblem(w.get("/devices/kettle"), 404, "not_found")
}

func TestPutTakesTheFormsOfAValue(t *testing.T) {
	w := newWorld(t)
	const jsonType, text, octets, form = "application/json", "text/plain; charset=utf-8", "application/octet-stream", "application/x-www-form-urlencoded"
	for _, test := range []struct{ name, contentType, body, want string }{
		{"oven.ramp", jsonType, "1", "1"},
		{"oven.ramp", jsonType, ` {"value": 2} `, "2"},
		{"oven.ramp", "application/json; charset=utf-8", "3", "3"},
		{"oven.ramp", text, " 4 ", "4"},
		{"oven.ramp", form, "5", "5"},
		{"oven.ramp", "", `{"value":6}`, "6"},
		{"oven.mode", form, "On", "On"},
		{"oven.mode", jsonType, `"Off"`, "Off"},
		{"oven.mode", jsonType, "1", "On"},
		{"oven.flag", text, "true", "true"},
		{"oven.text", jsonType, `"a \"b\""`, `a "b"`},
		{"oven.text", text, `"a"`, `"a"`},
		{"oven.text", form, "12", "12"},
		{"oven.text", form, "true", "true"},
		{"oven.text", form, `"quoted"`, "quoted"},
		{"oven.text", text, "", ""},
		{"oven.raw", octets, "\x00\xff", "AP8="},
		{"oven.raw", jsonType, `"AP8="`, "AP8="},
		{"oven.wave", jsonType, "[1,2.5]", "[1,2.5]"},
		{"oven.count", jsonType, "9007199254740993", "9007199254740993"},
	} {
		r := w.do(http.MethodPut, "/api/v1/attributes/"+test.name, test.body, "Content-Type", test.contentType)
		if r.StatusCode != http.StatusOK || w.member(r.text, "value") != test.want || w.member(r.text, "stage") != "verified" {
			t.Errorf("%s %q as %q: %d %s", test.name, test.body, test.contentType, r.StatusCode, r.text)
		}
	}
}

func TestARefreshReadsTheDevice(t *testing.T) {
	w := newWorld(t)
	w.Device.OnPut(func(d *hubtest.Device, p *gateway.Put) {
		d.Set(p.Path, gateway.Of(21.5))
		d.Finish(p, gateway.Verdict{Stage: gateway.StageVerified})
	})
	r := w.do(http.MethodPost, "/api/v1/attributes/oven.actual/refresh?urgent=true&budget=1m", "")
	w.wantOK(r)
	if w.member(r.text, "stage") != `verified` || w.member(r.text, "value") != "21.5" {
		t.Errorf("got %s", r.text)
	}
	if puts := w.Device.Puts(); len(puts) != 1 || !puts[0].Refresh || !puts[0].Urgent || puts[0].Path != "oven.actual" {
		t.Errorf("the device got %+v", puts)
	}
	r = w.do(http.MethodPost, "/api/v1/attributes/oven.secret/refresh", "")
	w.wantProblem(r, 405, "write_only")
	if allow, ok := r.Header["Allow"]; !ok || allow[0] != "" {
		t.Errorf("Allow %q", allow)
	}
	w.wantProblem(w.do(http.MethodPost, "/api/v1/attributes/oven.cancel/refresh", ""), 404, "not_found")
	w.wantProblem(w.do(http.MethodGet, "/api/v1/attributes/oven.actual/refresh", ""), 405, "malformed")
}

func TestPutIsRefusedInTheClientsWords(t *testing.T) {
	w := newWorld(t)
	for _, test := range []struct {
		path, body string
		status     int
		code       string
	}{
		{"oven.nothing", "1", 404, "not_found"},
		{"oven.cancel", "1", 404, "not_found"},
		{"oven.actual", "1", 405, "read_only"},
		{"oven.ramp", "", 400, "malformed"},
		{"oven.ramp", "{", 400, "malformed"},
		{"oven.ramp", `{"valu":1}`, 400, "malformed"},
		{"oven.ramp", `{}`, 400, "malformed"},
		{"oven.ramp", `{"value":1}{}`, 400, "malformed"},
		{"oven.ramp", `null`, 422, "wrong_type"},
		{"oven.ramp", `"hot"`, 422, "wrong_type"},
		{"oven.ramp", `[1]`, 422, "wrong_type"},
		{"oven.ramp", `11`, 422, "out_of_range"},
		{"oven.ramp", `"NaN"`, 422, "out_of_range"},
		{"oven.count", `1.5`, 422, "wrong_type"},
		{"oven.count", `1e30`, 422, "out_of_range"},
		{"oven.mode", `"Sideways"`, 422, "not_a_label"},
		{"oven.text", `"` + strings.Repeat("x", 101) + `"`, 413, "too_large"},
		{"oven.ramp?mode=loud", "1", 400, "malformed"},
		{"oven.ramp?budget=-1s", "1", 400, "malformed"},
		{"oven.ramp?budget=11m", "1", 400, "malformed"},
		{"oven.ramp?budget=soon", "1", 400, "malformed"},
		{"oven.ramp?urgent=perhaps", "1", 400, "malformed"},
		{"oven.ramp?ints=roman", "1", 400, "malformed"},
	} {
		r := w.put(test.path, test.body)
		w.wantProblem(r, test.status, test.code)
		if test.code == "read_only" && r.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("Allow %q", r.Header.Get("Allow"))
		}
		if w.member(r.text, "stage") != "refused" || test.status == 422 && w.member(r.text, "name") == "null" {
			t.Errorf("no stage or name: %s", r.text)
		}
	}
	if n := len(w.Device.Puts()); n != 0 {
		t.Errorf("%d refused puts reached the device", n)
	}
	bomb := w.do(http.MethodPut, "/api/v1/attributes/oven.text", "\x1f\x8b", "Content-Encoding", "gzip")
	w.wantProblem(bomb, 400, "malformed")
}

func TestPutEndsAsTheDeviceSays(t *testing.T) {
	for kind, status := range map[gateway.ErrorKind]int{
		gateway.KindSuperseded: 409, gateway.KindBusy: 429, gateway.KindNotConnected: 503, gateway.KindExpired: 503,
		gateway.KindUnknownOutcome: 504, gateway.KindConflict: 409, gateway.KindDenied: 403,
	} {
		t.Run(kind.String(), func(t *testing.T) {
			w := newWorld(t)
			w.Device.OnPut(func(d *hubtest.Device, p *gateway.Put) {
				d.Finish(p, gateway.Verdict{Stage: gateway.StageAccepted, Err: &gateway.Error{Kind: kind, Stage: gateway.StageAccepted, Msg: "because of the test"}})
			})
			r := w.put("oven.ramp", "1")
			w.wantProblem(r, status, kind.String())
			if w.member(r.text, "stage") != "accepted" || w.member(r.text, "name") != "oven.ramp" {
				t.Error(r.text)
			}
		})
	}
	t.Run("refused by device", func(t *testing.T) {
		w := newWorld(t)
		w.Device.OnPut(func(d *hubtest.Device, p *gateway.Put) { d.Reject(p, "ERR 12 <too hot>") })
		r := w.put("oven.ramp", "1")
		w.wantProblem(r, 409, "refused_by_device")
		if w.member(r.text, "device_words") != "ERR 12 <too hot>" || !strings.Contains(w.member(r.text, "detail"), "too hot") {
			t.Error(r.text)
		}
		if got := w.member(w.get("/attributes/oven.ramp").text, "setpoint.alarm.status"); got != "WRITE" {
			t.Errorf("alarm of the setpoint: %s", got)
		}
	})
}

func TestPutOptionsReachTheDriver(t *testing.T) {
	w := newWorld(t)
	w.wantOK(w.do(http.MethodPut, "/api/v1/attributes/oven.ramp?mode=latest&urgent=true&budget=2s", "1", "X-Request-Id", strings.Repeat("id", 100)))
	p := w.Device.Puts()[0]
	if p.Mode != gateway.Latest || !p.Urgent || p.Budget > 2*time.Second || p.Budget < time.Second {
		t.Errorf("%+v", p)
	}
	if p.Caller.Protocol != "rest" || !strings.HasPrefix(p.Caller.Peer, "127.0.0.1:") || p.Caller.Correlation != strings.Repeat("id", 64) {
		t.Errorf("caller %+v", p.Caller)
	}
}

func TestCommands(t *testing.T) {
	w := newWorld(t)
	post := func(path, body string) reply { return w.do(http.MethodPost, "/api/v1/commands/"+path, body) }
	for _, body := range []string{"", "{}", "null"} {
		w.wantOK(post("oven.cancel", body))
	}
	w.wantProblem(post("oven.cancel", "1"), 422, "wrong_type")
	w.wantProblem(post("oven.move", ""), 422, "wrong_type")
	w.wantProblem(post("oven.move", "far"), 422, "wrong_type")
	w.wantProblem(post("oven.ramp", ""), 404, "not_found")
	w.Device.OnPut(func(d *hubtest.Device, p *gateway.Put) {
		d.Accept(p)
		d.Finish(p, gateway.Verdict{Stage: gateway.StageAcknowledged, Result: gateway.Of("arrived")})
	})
	r := w.wantOK(post("oven.move", `{"value":2.5}`))
	if w.member(r.text, "result") != "arrived" || w.member(r.text, "stage") != "acknowledged" {
		t.Error(r.text)
	}
	if puts := w.Device.Puts(); !puts[len(puts)-1].Value.Equal(gateway.Of(2.5)) {
		t.Errorf("argument %v", puts[len(puts)-1].Value)
	}
	if got := w.member(w.wantOK(w.get("/commands/oven.move")).text, "descriptor.argument.units"); got != "mm" {
		t.Errorf("units of the argument: %s", got)
	}
	w.wantProblem(w.get("/attributes/oven.move"), 404, "not_found")
}

func TestWEB01NamesOfParallelPutsStayApart(t *testing.T) {
	w := newWorld(t)
	const n = 1000
	descriptors := make([]*gateway.Descriptor, n)
	for i := range descriptors {
		descriptors[i] = hubtest.Float(gateway.Path(fmt.Sprintf("oven.A%d", i)), gateway.AccessReadWrite)
	}
	w.Device.Redescribe(descriptors...)
	w.Settle()
	var all sync.WaitGroup
	parallel := make(chan struct{}, 100)
	for i := range n {
		parallel <- struct{}{}
		all.Go(func() {
			defer func() { <-parallel }()
			r := w.do(http.MethodPut, fmt.Sprintf("/api/v1/attributes/oven.A%d", i), fmt.Sprint(i), "X-Request-Id", fmt.Sprintf("id-%d", i))
			if w.member(r.text, "name") != fmt.Sprintf("oven.A%d", i) || w.member(r.text, "value") != fmt.Sprint(i) {
				t.Errorf("put %d: %s", i, r.text)
			}
		})
	}
	all.Wait()
	seen := map[gateway.Path]bool{}
	for _, p := range w.Device.Puts() {
		i := p.Value.Float()
		if p.Path != gateway.Path(fmt.Sprintf("oven.A%.0f", i)) || p.Caller.Correlation != fmt.Sprintf("id-%.0f", i) {
			t.Errorf("put of %v went to %s with id %q", i, p.Path, p.Caller.Correlation)
		}
		seen[p.Path] = true
	}
	if len(seen) != n {
		t.Errorf("%d names reached the device, want %d", len(seen), n)
	}
	for path := range w.server.cache.entries {
		if _, err := w.Hub.For(gateway.Caller{}).Get(path); err != nil {
			t.Errorf("the cache has a name that does not exist: %q", path)
		}
	}
}

func TestWEB02NaNAndInfinitiesAreText(t *testing.T) {
	w := newWorld(t)
	for text, v := range map[string]float64{"NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1)} {
		w.Set("oven.free", gateway.Of(v))
		if got := w.member(w.wantOK(w.get("/attributes/oven.free")).text, "value"); got != text {
			t.Errorf("%v is %s", v, got)
		}
		if r := w.wantOK(w.put("oven.free", `"`+text+`"`)); w.member(r.text, "value") != text {
			t.Errorf("put of %s: %s", text, r.text)
		}
	}
	w.Set("oven.wave", gateway.ArrayOf([]float64{1, math.NaN(), 3}))
	if got := w.member(w.wantOK(w.get("/attributes/oven.wave")).text, "value"); got != `[1,"NaN",3]` {
		t.Errorf("wave %s", got)
	}
	list := w.wantOK(w.get("/attributes"))
	if !strings.Contains(list.text, `"name":"oven.text"`) || !strings.Contains(list.text, `"value":[1,"NaN",3]`) {
		t.Error(list.text)
	}
}

func TestWEB04LargeIntegersAreExact(t *testing.T) {
	w := newWorld(t)
	w.Set("oven.count", gateway.Of(int64(9007199254740993)))
	for query, want := range map[string]string{"": `"value":9007199254740993,`, "?ints=number": `"value":9007199254740993,`, "?ints=string": `"value":"9007199254740993",`} {
		for range 2 { // the second comes from the cache
			if r := w.wantOK(w.get("/attributes/oven.count" + query)); !strings.Contains(r.text, want) {
				t.Errorf("%q: %s", query, r.text)
			}
		}
	}
	if r := w.put("oven.count?ints=string", `"9007199254740995"`); !strings.Contains(r.text, `"value":"9007199254740995"`) {
		t.Error(r.text)
	}
}

func TestWEB12NamesWithOtherCharactersAreNoRoutes(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{
		"DEV%3ATEMP", "DEV:TEMP", "a%2Fb", "rack/a/b", "..", "%2e%2e", "../devices", "%2e%2e/devices", "T%20C", "oven.ramp/", "oven.ramp%2F",
		"Oven.ramp", "oven.RAMP", "oven.ramp%00", "oven..ramp", "*", ">", "oven.*", "oven", strings.Repeat("a", 5000), "%C3%A9.x",
	} {
		w.wantProblem(w.get("/attributes/"+name), 404, "not_found")
	}
	for _, name := range []string{"oven.ramp", "oven%2Eramp", "%6Fven.ramp"} {
		if r := w.wantOK(w.get("/attributes/" + name)); w.member(r.text, "name") != "oven.ramp" {
			t.Errorf("%s is %s", name, r.text)
		}
	}
}

func TestWEB16ALostDeviceIsStillRead(t *testing.T) {
	w := newWorld(t)
	w.Set("oven.actual", gateway.Of(20.5))
	good := w.get("/attributes/oven.actual")
	w.Device.SetState(false, "unplugged")
	w.Settle()
	r := w.wantOK(w.get("/attributes/oven.actual"))
	for place, want := range map[string]string{
		"value": "20.5", "time": w.member(good.text, "time"), "alarm.severity": "INVALID", "alarm.status": "COMM", "alarm.text": "unplugged",
		"availability.state": "disconnected", "availability.words": "unplugged",
	} {
		if got := w.member(r.text, place); got != want {
			t.Errorf("%s = %s, want %s", place, got, want)
		}
	}
}
