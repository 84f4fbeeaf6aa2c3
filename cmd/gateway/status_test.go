package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/rs/zerolog"

	"github.com/polygate/gateway/internal/config"
)

// What dashboard and alerts ask for is there: the families are all that /metrics has.
func TestServedMetricsAreThoseOfAlertsAndDashboard(t *testing.T) {
	f, err := plan(config.Parse("test", []byte(demoDevice+"bus: {url: \"nats://127.0.0.1:1\", lease: demo}\n")))
	if err != nil {
		t.Fatal(err)
	}
	p, err := build(f, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	var served []string
	for _, family := range p.families() {
		served = append(served, family.Name)
	}
	for _, name := range []string{"alerts.yaml", "dashboard.json"} {
		text, err := os.ReadFile(filepath.Join("../../helm/polygate/files", name))
		if err != nil {
			t.Fatal(err)
		}
		asked := regexp.MustCompile(`\bpolygate_[a-z_]+`).FindAllString(string(text), -1)
		if len(asked) == 0 {
			t.Errorf("%s has no metric", name)
		}
		for _, metric := range asked {
			if !slices.Contains(served, metric) {
				t.Errorf("%s: there is no metric %s", name, metric)
			}
		}
	}
}
