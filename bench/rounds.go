//go:build linux

package main

import (
	"fmt"
	"slices"
)

// A program is measured in windows: each gives the latencies of its requests, in µs.
type program struct {
	name   string
	window func() ([]float64, error)
}

// A look is what one window has shown.
type look struct{ median, p99 float64 }

// A statistic is one figure of a look.
type statistic func(look) float64

func medianLatency(l look) float64 { return l.median }
func p99Latency(l look) float64    { return l.p99 }

// rounds are looks at several programs that were measured in turn.
type rounds struct {
	first, second map[string][]look // by program, round by round
}

// takeRounds measures the subject once and each reference twice in each round, the
// one that goes first changing from round to round. What starting has left to do
// falls into a round that does not count.
func takeRounds(n int, subject program, references ...program) (*rounds, error) {
	all := append([]program{subject}, references...)
	r := &rounds{first: map[string][]look{}, second: map[string][]look{}}
	for i := -1; i < n; i++ {
		start := max(i, 0) % len(all)
		order := slices.Concat(all[start:], all[:start])
		for _, p := range order {
			if err := p.add(r.first, i); err != nil {
				return nil, err
			}
		}
		for _, p := range order {
			if p.name == subject.name {
				continue
			}
			if err := p.add(r.second, i); err != nil {
				return nil, err
			}
		}
	}
	return r, nil
}

func (p program) add(to map[string][]look, round int) error {
	latencies, err := p.window()
	if err != nil {
		return fmt.Errorf("%s, round %d: %w", p.name, round+1, err)
	}
	if round >= 0 {
		slices.Sort(latencies)
		to[p.name] = append(to[p.name], look{median: median(latencies), p99: quantile(latencies, 0.99)})
	}
	return nil
}

// compare makes the ratio of two programs. References that are several are added up.
func (r *rounds) compare(of statistic, subject string, references ...string) ratio {
	return ratioOf(sum(r.first, of, subject), sum(r.first, of, references...), sum(r.second, of, references...))
}

func sum(looks map[string][]look, of statistic, programs ...string) []float64 {
	total := make([]float64, len(looks[programs[0]]))
	for _, name := range programs {
		for i, l := range looks[name] {
			total[i] += of(l)
		}
	}
	return total
}
