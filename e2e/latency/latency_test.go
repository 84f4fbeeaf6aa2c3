package latency

import (
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSum(t *testing.T) {
	var hundred []time.Duration
	for i := 100; i > 0; i-- {
		hundred = append(hundred, time.Duration(i)*time.Microsecond)
	}
	for _, c := range []struct {
		name      string
		durations []time.Duration
		want      Summary
	}{
		{"one", []time.Duration{1500}, Summary{1, 1.5, 1.5, 1.5, 1.5, 1.5}},
		{"two", []time.Duration{3000, 1000}, Summary{2, 1, 1, 3, 3, 3}},
		{"a hundred", hundred, Summary{100, 1, 50, 90, 99, 100}},
	} {
		if diff := cmp.Diff(c.want, Sum(c.durations)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", c.name, diff)
		}
	}
}

func report() *Report {
	row := func(protocol string, together bool, p50 float64) Row {
		return Row{
			Deployment: "one <gateway>", Way: "instrument to client", Protocol: protocol, Together: together,
			Summary: Summary{N: 10, Min: 100, P50: p50, P90: 300, P99: 400, Max: 50_000},
		}
	}
	return &Report{Machine: "a machine", Rows: []Row{row("gRPC", false, 200), row("REST", false, 210), row("gRPC", true, 220)}}
}

func TestTheTableKeepsTheRowsOfAProtocolTogether(t *testing.T) {
	const want = `| gRPC | alone | 100 | 200 | 300 | 400 | 50000 | 10 |
| gRPC | all protocols at once | 100 | 220 | 300 | 400 | 50000 | 10 |
| REST | alone | 100 | 210 | 300 | 400 | 50000 | 10 |
`
	if got := report().Table(); !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s\nwant at the end\n%s", got, want)
	}
}

func TestThePlotIsXMLWithADotForEachRow(t *testing.T) {
	plot, dots := xml.NewDecoder(strings.NewReader(report().Plot())), 0
	for {
		token, err := plot.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if element, ok := token.(xml.StartElement); ok && element.Name.Local == "circle" {
			dots++
		}
	}
	if dots != 3 {
		t.Errorf("got %d dots, want 3", dots)
	}
}

func TestWrite(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new")
	if err := report().Write(folder); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"latency.md", "latency.svg", "latency.json"} {
		if data, err := os.ReadFile(filepath.Join(folder, name)); err != nil || len(data) == 0 {
			t.Errorf("%s: %d bytes, %v", name, len(data), err)
		}
	}
}
