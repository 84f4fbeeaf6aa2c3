// Package latency sums up how long things took, and shows it: as a table, a plot
// and data for programs.
package latency

import (
	"slices"
	"time"
)

// A Summary is what there is to say of many durations. They are in microseconds.
type Summary struct {
	N   int     `json:"n"`
	Min float64 `json:"min_us"`
	P50 float64 `json:"p50_us"`
	P90 float64 `json:"p90_us"`
	P99 float64 `json:"p99_us"`
	Max float64 `json:"max_us"`
}

// Sum sums up durations, of which there is at least one.
func Sum(durations []time.Duration) Summary {
	sorted := slices.Sorted(slices.Values(durations))
	// at is the smallest that a part of all does not exceed.
	at := func(part float64) float64 {
		i := int(part*float64(len(sorted))+0.999999) - 1
		return float64(sorted[min(max(i, 0), len(sorted)-1)]) / float64(time.Microsecond)
	}
	return Summary{N: len(sorted), Min: at(0), P50: at(0.5), P90: at(0.9), P99: at(0.99), Max: at(1)}
}

// A Row is one measurement.
type Row struct {
	Deployment string `json:"deployment"` // which boxes there were
	Way        string `json:"way"`        // from where to where
	Protocol   string `json:"protocol"`
	Together   bool   `json:"together"` // all protocols at once, or this one alone
	Loaded     bool   `json:"loaded"`   // while others read by HTTP
	Summary
}

// condition says in words what else was going on.
func (r *Row) condition() string { return conditions()[r.conditionIndex()] }

func (r *Row) conditionIndex() int {
	i := 0
	if r.Together {
		i++
	}
	if r.Loaded {
		i += 2
	}
	return i
}

func conditions() []string {
	return []string{"alone", "all protocols at once", "alone, with 9 HTTP clients", "all at once, with 9 HTTP clients"}
}

// A Report is a run.
type Report struct {
	Machine string `json:"machine"`
	Rows    []Row  `json:"rows"`
}

// groups are the rows of each way in each deployment, in order of appearance.
func (r *Report) groups() (ways, deployments []string, rows map[[2]string][]*Row) {
	rows = map[[2]string][]*Row{}
	for i := range r.Rows {
		row := &r.Rows[i]
		if !slices.Contains(ways, row.Way) {
			ways = append(ways, row.Way)
		}
		if !slices.Contains(deployments, row.Deployment) {
			deployments = append(deployments, row.Deployment)
		}
		key := [2]string{row.Way, row.Deployment}
		rows[key] = append(rows[key], row)
	}
	for _, group := range rows {
		slices.SortStableFunc(group, func(a, b *Row) int {
			return firstOf(group, a.Protocol) - firstOf(group, b.Protocol)
		})
	}
	return ways, deployments, rows
}

func firstOf(rows []*Row, protocol string) int {
	return slices.IndexFunc(rows, func(r *Row) bool { return r.Protocol == protocol })
}
