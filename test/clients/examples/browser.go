//go:build unix

package examples

import (
	"context"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/polygate/gateway/test/rig"
)

// Browser opens a page, and returns a runner of JavaScript in it, whose output
// is what it logs. The test is skipped if there is no browser.
func Browser(t *testing.T, url string) func(body string) (string, error) {
	t.Helper()
	tab, cancel := chromedp.NewExecAllocator(context.Background(),
		chromedp.ExecPath(rig.Needed(t, "POLYGATE_CHROMIUM")), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.UserDataDir(t.TempDir()), chromedp.Flag("headless", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"))
	t.Cleanup(cancel)
	tab, cancel = chromedp.NewContext(tab)
	t.Cleanup(cancel)
	if err := chromedp.Do(tab, chromedp.Navigate(url)); err != nil {
		t.Fatal(err)
	}
	return func(body string) (string, error) {
		ctx, cancel := context.WithTimeout(tab, time.Minute)
		defer cancel()
		return chromedp.Run(ctx, chromedp.Evaluate[string](`(async () => {
			const lines = [];
			const console = { log: (...words) => lines.push(words.join(" ")) };
			`+body+`
			return lines.join("\n");
		})()`, chromedp.EvalAwaitPromise))
	}
}
