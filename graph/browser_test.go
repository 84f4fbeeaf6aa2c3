package graph

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/polygate/gateway"
)

// browser is one tab that knows what went wrong in it.
type browser struct {
	*testing.T
	ctx context.Context

	mu     sync.Mutex
	errors []string
}

func newBrowser(t *testing.T, flags ...chromedp.ExecAllocatorOption) *browser {
	t.Helper()
	path := os.Getenv("POLYGATE_CHROMIUM")
	if path == "" {
		const missing = "POLYGATE_CHROMIUM is not set: apt-get install chromium, and set it to /usr/bin/chromium"
		if os.Getenv("POLYGATE_REQUIRE") == "1" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), append(flags,
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.UserDataDir(t.TempDir()),
		chromedp.WindowSize(1500, 900),
		chromedp.Flag("headless", true), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"))...)
	t.Cleanup(cancel)
	b := &browser{T: t}
	b.ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b.ctx, cancel = context.WithTimeout(b.ctx, time.Minute)
	t.Cleanup(cancel)
	return b
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.Fatal(err)
	}
}

// open opens a page and collects what goes wrong in it from then on.
func (b *browser) open(url string) {
	b.Helper()
	b.do(chromedp.Navigate("about:blank"))
	messages := chromedp.Console(b.ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return
			}
			if m.Type == chromedp.ConsoleError || m.Type == chromedp.ConsoleException || m.Type == chromedp.ConsoleWarning {
				b.mu.Lock()
				b.errors = append(b.errors, m.Text)
				b.mu.Unlock()
			}
		}
	}()
	b.do(chromedp.Navigate(url))
}

// eval runs JavaScript that may be asynchronous.
func (b *browser) eval(script string) string {
	b.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](script, chromedp.EvalAwaitPromise))
	if err != nil {
		b.Fatal(err)
	}
	return value
}

// until waits until a JavaScript expression is true.
func (b *browser) until(expression string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	watch := fmt.Sprintf(`new Promise((resolve) => { const look = () => { if (%s) resolve(true); else requestAnimationFrame(look); }; look(); })`, expression)
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[bool](watch, chromedp.EvalAwaitPromise)); err != nil {
		page, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string]("document.body.innerText"))
		b.Fatalf("waiting for %s: %v; the page says:\n%s", expression, err, page)
	}
}

func (b *browser) click(selector string) {
	b.Helper()
	b.do(chromedp.Click(chromedp.CSS(selector)))
}

// run runs what is in the editor, when what ran before has ended.
func (b *browser) run() {
	b.Helper()
	b.until(`document.getElementById("run").textContent === "Run"`)
	b.click("#run")
}

// choose chooses an example.
func (b *browser) choose(title string) {
	b.Helper()
	b.eval(fmt.Sprintf(`(() => { const s = document.getElementById("examples"); s.selectedIndex = [...s.options].findIndex((o) => o.text === %q);
		s.dispatchEvent(new Event("change")); return s.value; })()`, title))
}

// wantClean checks that nothing went wrong and that nothing came from elsewhere.
func (b *browser) wantClean() {
	b.Helper()
	foreign := b.eval(`performance.getEntriesByType("resource").map((e) => e.name).filter((name) => !name.startsWith(location.origin) && !name.startsWith("data:")).join()`)
	if foreign != "" {
		b.Errorf("the page asked elsewhere: %v", foreign)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.errors) > 0 {
		b.Errorf("the console says %q", b.errors)
	}
}

const answerText = `document.getElementById("answer").innerText`

func TestExplorerPage(t *testing.T) {
	w := newWorld(t)
	b := newBrowser(t)
	w.Set("oven.actual", gateway.Of(20.25))
	w.Set("oven.count", gateway.Of(int64(9007199254740993)))
	b.open(w.url + "/graphql")
	b.until(`document.body.dataset.ready === "yes" && document.querySelectorAll("#docs li").length > 5`)

	b.choose("One attribute")
	b.until(`document.getElementById("variables").value.includes("oven.actual")`)
	b.run()
	b.until(answerText + `.includes("20.25")`)

	// A number that JavaScript would round is shown with its digits, from both sides.
	b.eval(`(() => { document.getElementById("query").value = 'mutation($v: Value!) { put(name: "oven.count", value: $v) { readback { value integer } } }';
		document.getElementById("variables").value = '{"v": 9007199254740995}'; return ""; })()`)
	b.run()
	b.until(answerText + `.includes("value: 9007199254740995") && ` + answerText + `.includes('integer: "9007199254740995"')`)

	b.choose("Follow changes")
	b.run()
	b.until(answerText + `.includes("SYNCED")`)
	w.Set("oven.actual", gateway.Of(21.5))
	b.until(answerText + `.includes("21.5") && document.getElementById("run").textContent === "Stop"`)
	w.wantStreams(1)
	b.click("#run") // which stops it
	b.until(`document.getElementById("run").textContent === "Run"`)
	w.wantStreams(0)

	b.choose("Put many")
	b.run()
	b.until(answerText + `.includes("read_only")`)
	b.eval(`(() => { document.getElementById("query").value = "{ nosuch }"; document.getElementById("variables").value = ""; return ""; })()`)
	b.do(chromedp.SendKeys(chromedp.CSS("#query"), " "))
	b.run()
	b.until(`document.querySelector("#answer .failed")?.innerText.includes("GRAPHQL_VALIDATION_FAILED")`)
	b.eval(`(() => { document.getElementById("variables").value = "{"; return ""; })()`)
	b.run()
	b.until(`document.querySelector("#answer .failed")?.innerText.includes("not JSON")`)

	// The schema can be read and searched, and writes queries that work.
	b.until(`document.getElementById("docs").innerText.includes("by its full name")`)
	b.eval(`(() => { [...document.querySelectorAll("#docs .link")].find((l) => l.textContent === "Device").click(); return ""; })()`)
	b.until(`document.querySelector("#docs h3").innerText.startsWith("Device") && document.getElementById("trail").innerText.includes("Device")`)
	b.eval(`(() => { document.querySelector("#trail .link").click(); return ""; })()`)
	b.until(`document.querySelectorAll("#docs .try").length === 11`)
	b.eval(`(() => { [...document.querySelectorAll("#docs li")].find((l) => l.querySelector(".name")?.textContent === "devices").querySelector(".try").click(); return ""; })()`)
	b.run()
	b.until(answerText + `.includes("availability") && !document.querySelector("#answer .failed")`)
	b.do(chromedp.SendKeys(chromedp.CSS("#find"), "logdead"))
	b.until(`document.getElementById("docs").innerText.includes("The same for archives")`)
	b.wantClean()
}

// TestBrowserClient is a page of another origin that queries, subscribes and puts
// with what a browser has: fetch and WebSocket.
func TestBrowserClient(t *testing.T) {
	page := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html")
		_, _ = rw.Write([]byte("<!doctype html><title>a panel</title><link rel=icon href='data:,'>"))
	}), ReadHeaderTimeout: time.Second}
	origin := serve(t, page)
	w := newWorld(t, func(c *Config, _ *limits) { c.Origins = []string{origin} })
	w.Set("oven.count", gateway.Of(int64(9007199254740993)))
	b := newBrowser(t)
	b.open(origin)
	got := b.eval(fmt.Sprintf(`(async () => {
		const url = %q + "/graphql";
		const ask = async (query, variables) => (await (await fetch(url, {
			method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify({query, variables}) })).json()).data;
		const {attribute} = await ask('{ attribute(name: "oven.count") { readback { integer } } }');
		const socket = new WebSocket(url.replace("http", "ws"), "graphql-transport-ws");
		const seen = await new Promise((resolve, reject) => {
			socket.onopen = () => socket.send(JSON.stringify({type: "connection_init"}));
			socket.onerror = reject;
			socket.onmessage = async ({data}) => {
				const m = JSON.parse(data);
				if (m.type === "connection_ack") {
					socket.send(JSON.stringify({id: "1", type: "subscribe", payload: {query:
						'subscription { updates(match: "oven.ramp", roles: [READBACK]) { events { type sample { value } } } }'}}));
				} else if (m.type === "next") {
					for (const e of m.payload.data.updates.events) {
						if (e.type === "SYNCED") await ask('mutation($v: Value!) { put(name: "oven.ramp", value: $v) { stage } }', {v: 2.5});
						if (e.type === "SAMPLE") resolve(e.sample.value);
					}
				}
			};
		});
		socket.close();
		return attribute.readback.integer + " " + seen;
	})()`, w.url))
	if got != "9007199254740993 2.5" {
		t.Errorf("the page says %q", got)
	}
	w.wantStreams(0)
	b.wantCleanConsole()

	// A page that is not in the list can do none of that.
	other := serve(t, &http.Server{Handler: page.Handler, ReadHeaderTimeout: time.Second})
	b.do(chromedp.Navigate(other))
	got = b.eval(fmt.Sprintf(`(async () => {
		const url = %q + "/graphql";
		const asked = await fetch(url, {method: "POST", headers: {"Content-Type": "application/json"}, body: '{"query":"mutation { execute(name: \\"oven.cancel\\") { stage } }"}'}).then(() => "served", () => "refused");
		const opened = await new Promise((resolve) => {
			const socket = new WebSocket(url.replace("http", "ws"), "graphql-transport-ws");
			socket.onopen = () => resolve("served"); socket.onerror = () => resolve("refused");
		});
		return asked + " " + opened;
	})()`, w.url))
	if got != "refused refused" {
		t.Errorf("a page of another origin is %s", got)
	}
	for _, put := range w.Device.Puts() {
		if strings.HasSuffix(string(put.Path), "cancel") {
			t.Error("a page of another origin ran a command")
		}
	}
}

func (b *browser) wantCleanConsole() {
	b.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.errors) > 0 {
		b.Errorf("the console says %q", b.errors)
	}
}

// serve serves until the test ends, and returns the origin.
func serve(t *testing.T, s *http.Server) string {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(inner)
	}()
	t.Cleanup(func() {
		_ = s.Close()
		<-done
	})
	return "http://" + inner.Addr().String()
}
