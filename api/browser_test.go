package api

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/polygate/gateway"
	"github.com/polygate/gateway/hub/hubtest"
	"github.com/polygate/gateway/internal/frontendtest"
)

// browser is one tab that knows what went wrong in it.
type browser struct {
	*world
	ctx context.Context

	mu     sync.Mutex
	errors []string
}

func (w *world) browser() *browser {
	w.Helper()
	path := os.Getenv("POLYGATE_CHROMIUM")
	if path == "" {
		const missing = "POLYGATE_CHROMIUM is not set: apt-get install chromium, and set it to /usr/bin/chromium"
		if os.Getenv("POLYGATE_REQUIRE") == "1" {
			w.Fatal(missing)
		}
		w.Skip(missing)
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(),
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.UserDataDir(w.TempDir()),
		chromedp.WindowSize(1400, 1000),
		chromedp.Flag("headless", true), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"))
	w.Cleanup(cancel)
	b := &browser{world: w}
	b.ctx, cancel = chromedp.NewContext(ctx)
	w.Cleanup(cancel)
	b.ctx, cancel = context.WithTimeout(b.ctx, time.Minute)
	w.Cleanup(cancel)
	return b
}

func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.Fatal(err)
	}
}

// open opens a page and collects what goes wrong in it from then on.
func (b *browser) open(path string) {
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
	b.do(chromedp.Navigate(b.url + path))
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

// row is the JavaScript for the row of an attribute of the oven.
func row(name string) string {
	return fmt.Sprintf(`document.querySelector('tr[data-key="oven.%s"]')`, name)
}

// wantClean checks that nothing went wrong and that nothing came from elsewhere.
func (b *browser) wantClean() {
	b.Helper()
	foreign, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]string](
		`performance.getEntriesByType("resource").map((e) => e.name).filter((name) => !name.startsWith(location.origin) && !name.startsWith("data:"))`))
	if err != nil {
		b.Fatal(err)
	}
	if len(foreign) > 0 {
		b.Errorf("the page asked elsewhere: %v", foreign)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.errors) > 0 {
		b.Errorf("the console says %q", b.errors)
	}
}

// enter types a value into the form of an attribute and sends it.
func (b *browser) enter(name, value string) {
	b.Helper()
	b.until(row(name) + `.querySelector("input").select() === undefined`)
	b.do(chromedp.SendKeys(chromedp.CSS(fmt.Sprintf(`tr[data-key="oven.%s"] input`, name)), value+"\r"))
}

func TestIndexPage(t *testing.T) {
	w := newWorld(t)
	b := w.browser()
	w.Set("oven.actual", gateway.Of(20.25))
	w.Set("oven.count", gateway.Of(int64(9007199254740993)))
	b.open("/")
	b.until(`document.querySelectorAll("tbody tr").length === 14 && document.getElementById("stream").className.includes("live")`)
	b.until(row("actual") + `.querySelector(".value").textContent === "20.25"`)
	b.until(row("count") + `.querySelector(".value").textContent === "9007199254740993"`)

	w.Set("oven.actual", gateway.Of(21.5))
	b.until(row("actual") + `.querySelector(".value").textContent === "21.5"`)
	w.Device.Update(hubtest.Change{
		Path: "oven.actual", Role: gateway.Readback, Value: gateway.Of(99.0),
		Alarm: gateway.Alarm{Severity: gateway.Major, Status: gateway.StatusHiHi},
	})
	b.until(row("actual") + `.className === "MAJOR" && ` + row("actual") + `.innerText.includes("MAJOR HIHI")`)
	b.until(`getComputedStyle(` + row("actual") + `.querySelector(".value")).color !== getComputedStyle(` + row("mode") + `.querySelector(".value")).color`)
	w.Set("oven.wave", gateway.ArrayOf(make([]float64, 100000)))
	b.until(row("wave") + `.innerText.includes("100000 values") && ` + row("wave") + `.querySelector("polyline")`)

	b.enter("ramp", "2.5")
	b.until(row("ramp") + `.querySelector(".value").textContent === "2.500"`)
	b.enter("ramp", "11")
	b.until(row("ramp") + `.querySelector(".refused")?.textContent.includes("-10 ... 10 K/s")`)
	w.Device.OnPut(func(d *hubtest.Device, p *gateway.Put) { d.Reject(p, "ERR 7 <b>door open</b>") })
	b.enter("ramp", "3")
	b.until(row("ramp") + `.querySelector(".refused")?.textContent === "Device: ERR 7 <b>door open</b>"`)
	w.Device.OnPut(nil)
	b.do(chromedp.Click(chromedp.CSS(`tr[data-key="oven.cancel"] button`)))
	b.until(row("cancel") + `.querySelector(".done") !== null`)

	w.Device.SetState(false, "unplugged")
	b.until(`document.querySelector("h2").innerText.includes("disconnected: unplugged") && ` + row("ramp") + `.className.includes("old")`)
	w.Device.SetState(true, "")
	b.until(`!document.querySelector("h2").innerText.includes("unplugged") && !` + row("ramp") + `.className.includes("old")`)

	b.do(chromedp.SendKeys(chromedp.CSS("#find"), "ramp"))
	b.until(`document.querySelectorAll("tbody tr:not([hidden])").length === 1 && document.getElementById("count").textContent === "1 of 14"`)
	b.wantRefusalsOnly()
	b.wantClean()

	w.Device.Redescribe(frontendtest.OvenDescriptors()[:2]...)
	b.until(`document.querySelectorAll("tbody tr").length === 2 && document.getElementById("empty").hidden`)
	w.Device.Redescribe()
	b.until(`document.querySelectorAll("tbody tr").length === 0 && !document.getElementById("empty").hidden`)
}

// wantRefusalsOnly takes the browser's own words about refused puts off the list.
func (b *browser) wantRefusalsOnly() {
	b.mu.Lock()
	defer b.mu.Unlock()
	rest := b.errors[:0]
	for _, text := range b.errors {
		if !strings.Contains(text, "status of 422") && !strings.Contains(text, "status of 409") {
			rest = append(rest, text)
		}
	}
	b.errors = rest
}

func TestDocumentationPage(t *testing.T) {
	w := newWorld(t)
	b := w.browser()
	b.open("/docs/")
	b.until(`document.querySelectorAll(".opblock").length === 12 && document.body.innerText.includes("Set an attribute and wait for the verdict")`)
	b.until(`!document.querySelector(".errors-wrapper")`)
	b.wantClean()
}
