//go:build unix

package monitoring_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/polygate/gateway/test/rig"
)

// limit bounds what is waited for.
const limit = time.Minute

// A prometheus is a running one.
type prometheus struct {
	t    *testing.T
	base string
}

var listening = regexp.MustCompile(`Listening on.*address=(127\.0\.0\.1:\d+)`)

// startPrometheus runs one with the configuration that deploy/compose has, but
// for other targets and a shorter interval.
func startPrometheus(t *testing.T, targets ...string) *prometheus {
	t.Helper()
	path := rig.Needed(t, "POLYGATE_PROMETHEUS")
	dir := t.TempDir()
	config := read(t, "../../deploy/compose/prometheus.yml")
	quoted, err := json.Marshal(targets)
	if err != nil {
		t.Fatal(err)
	}
	config = replace(t, config, `["drivers:9464", "frontends:9464"]`, string(quoted))
	config = replace(t, config, "{scrape_interval: 5s, evaluation_interval: 5s}", "{scrape_interval: 250ms, evaluation_interval: 250ms}")
	write(t, filepath.Join(dir, "prometheus.yml"), config)
	write(t, filepath.Join(dir, "alerts.yaml"), read(t, "../../helm/polygate/files/alerts.yaml"))

	command := exec.Command(path, "--config.file="+filepath.Join(dir, "prometheus.yml"), //nolint:noctx // It is killed below.
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address=127.0.0.1:0")
	said, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	t.Cleanup(func() {
		_ = command.Process.Kill()
		<-read
		_ = command.Wait()
	})
	address := make(chan string, 1)
	var log strings.Builder
	go func() {
		defer close(read)
		defer close(address)
		told := false
		for lines := bufio.NewScanner(said); lines.Scan(); {
			log.WriteString(lines.Text() + "\n")
			if match := listening.FindStringSubmatch(lines.Text()); match != nil && !told {
				told = true
				address <- match[1]
			}
		}
	}()
	at, ok := <-address
	if !ok {
		t.Fatalf("Prometheus does not start:\n%s", &log)
	}
	return &prometheus{t: t, base: "http://" + at + "/api/v1/"}
}

// ask gets what the API answers.
func (p *prometheus) ask(path string, into any) error {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.base+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &answer); err != nil || answer.Status != "success" {
		return fmt.Errorf("%s %s: %s", path, response.Status, text)
	}
	return json.Unmarshal(answer.Data, into)
}

// await asks until the answer is good; bad says what is not.
func (p *prometheus) await(bad func() string) {
	p.t.Helper()
	pause := time.NewTicker(100 * time.Millisecond)
	defer pause.Stop()
	why := ""
	for end := time.Now().Add(limit); time.Now().Before(end); <-pause.C {
		if why = bad(); why == "" {
			return
		}
	}
	p.t.Error(why)
}

// series returns how many time series an expression has, or why it has none.
func (p *prometheus) series(expression string) (int, error) {
	p.t.Helper()
	var data struct{ Result []json.RawMessage }
	err := p.ask("query?query="+url.QueryEscape(expression), &data)
	return len(data.Result), err
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// replace fails if there is nothing to replace.
func replace(t *testing.T, text, old, with string) string {
	t.Helper()
	if !strings.Contains(text, old) {
		t.Fatalf("there is no %s in %s", old, text)
	}
	return strings.ReplaceAll(text, old, with)
}
