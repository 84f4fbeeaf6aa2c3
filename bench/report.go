//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"runtime"
	"strings"
	"time"
)

// Where the results go. The text of the page outside the two marks is written
// by hand, what is between them never is.
const (
	page      = "bench/README.md"
	figures   = "bench/results.json"
	picture   = "bench/ratios.svg"
	beginMark = "<!-- figures: written by go run ./bench -->"
	endMark   = "<!-- end of figures -->"
)

func writeReport(fresh map[string]outcome) error {
	results := map[string]outcome{}
	if known, err := os.ReadFile(figures); err == nil {
		if err := json.Unmarshal(known, &results); err != nil {
			return fmt.Errorf("reading %s: %w", figures, err)
		}
	}
	maps.Copy(results, fresh)
	data, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(figures, append(data, '\n'), 0o644); err != nil { //nolint:gosec // a page of the repository
		return err
	}
	if err := os.WriteFile(picture, []byte(plot(results)), 0o644); err != nil { //nolint:gosec // a picture of the page
		return err
	}
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), beginMark)
	_, after, ok2 := strings.Cut(rest, endMark)
	if !ok || !ok2 {
		return fmt.Errorf("%s has lost the marks around its figures", page)
	}
	out := before + beginMark + "\n" + table(results) + endMark + after
	return os.WriteFile(page, []byte(out), 0o644) //nolint:gosec // a page of the repository
}

func table(results map[string]outcome) string {
	var out strings.Builder
	fmt.Fprintf(&out, "\nTaken on %s with %s on %d cores of %s.\n\n", time.Now().UTC().Format("2006-01-02"), runtime.Version(), runtime.NumCPU(), processor())
	out.WriteString("![The ratios below, with their intervals and targets](ratios.svg)\n\n")
	out.WriteString("| name | measure | found | target | met | self | |\n|---|---|---|---|---|---|---|\n")
	for _, m := range measures {
		r, ran := results[m.name]
		if !ran {
			continue
		}
		met, self := "", ""
		if r.Met != nil && m.target != "" {
			met = map[bool]string{true: "yes", false: "**no**"}[*r.Met]
		}
		if r.Ratio != nil {
			self = fmt.Sprintf("%.2f", r.Ratio.Self)
		}
		fmt.Fprintf(&out, "| %s | %s | %s | %s | %s | %s | %s |\n", m.name, m.title, r.Value, m.target, met, self, r.Note)
	}
	out.WriteString("\n")
	return out.String()
}

// processor is the name of the machine's processor.
func processor() string {
	data, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "an unknown processor"
	}
	for line := range strings.Lines(string(data)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.TrimSpace(strings.TrimLeft(name, "\t :"))
		}
	}
	return "an unknown processor"
}
