package latency

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Write writes latency.md, latency.svg and latency.json into a folder.
func (r *Report) Write(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // For everybody to read.
		return err
	}
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	for name, content := range map[string]string{"latency.md": r.Table(), "latency.svg": r.Plot(), "latency.json": string(data) + "\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o644); err != nil { //nolint:gosec // As above.
			return err
		}
	}
	return nil
}

// Table is the report in Markdown.
func (r *Report) Table() string {
	var out strings.Builder
	out.WriteString("# Latencies\n\n" + r.Machine + "\n\n![The same as a plot](latency.svg)\n\nAll times in microseconds.\n")
	ways, deployments, rows := r.groups()
	for _, way := range ways {
		fmt.Fprintf(&out, "\n## %s\n", way)
		for _, deployment := range deployments {
			group := rows[[2]string{way, deployment}]
			if len(group) == 0 {
				continue
			}
			fmt.Fprintf(&out, "\n%s:\n\n| protocol | | min | p50 | p90 | p99 | max | of |\n|---|---|--:|--:|--:|--:|--:|--:|\n", deployment)
			for _, row := range group {
				fmt.Fprintf(&out, "| %s | %s | %.0f | %.0f | %.0f | %.0f | %.0f | %d |\n",
					row.Protocol, row.condition(), row.Min, row.P50, row.P90, row.P99, row.Max, row.N)
			}
		}
	}
	return out.String()
}
