//go:build linux

package main

import (
	"fmt"
	"math"
	"slices"
)

// A sampler measures one program once: a rate, a time, or a cost.
type sampler func() (float64, error)

// minPairs is the least number of pairs that a ratio is worth anything with.
const minPairs = 20

// A ratio is what pairs of measurements of two programs show.
type ratio struct {
	Median    float64 `json:"median"`
	Low       float64 `json:"low"` // 95 % interval of the median
	High      float64 `json:"high"`
	Pairs     int     `json:"pairs"`
	Self      float64 `json:"self"`    // the floor over itself
	Subject   float64 `json:"subject"` // medians in the measure's unit
	Reference float64 `json:"reference"`
	Bound     *bound  `json:"bound,omitempty"`
}

// A bound is a target of a ratio.
type bound struct {
	Limit   float64 `json:"limit"`
	AtLeast bool    `json:"at_least,omitempty"` // else at most
}

func atMost(limit float64) *bound  { return &bound{Limit: limit} }
func atLeast(limit float64) *bound { return &bound{Limit: limit, AtLeast: true} }

func (b *bound) holds(value float64) bool {
	if b.AtLeast {
		return value >= b.Limit
	}
	return value <= b.Limit
}

// compare measures subject and reference in turn, the one that goes first
// changing from pair to pair, and the reference a second time in each round for
// the row that compares it with itself.
func compare(pairs int, subject, reference sampler) (ratio, error) {
	var subjects, references, repeats []float64
	for i := range pairs {
		order := []sampler{subject, reference, reference}
		if i%2 == 1 {
			order = []sampler{reference, subject, reference}
		}
		var values [3]float64
		for j, sample := range order {
			value, err := sample()
			if err != nil {
				return ratio{}, fmt.Errorf("pair %d: %w", i+1, err)
			}
			values[j] = value
		}
		if i%2 == 1 {
			values[0], values[1] = values[1], values[0]
		}
		subjects, references, repeats = append(subjects, values[0]), append(references, values[1]), append(repeats, values[2])
	}
	return ratioOf(subjects, references, repeats), nil
}

// alternate is compare for single events, such as the way of one value. Subject
// and reference take turns event by event, so that each follows the other and
// what the machine does meanwhile happens to both. A pair is the medians of so
// many events; what repeats the reference are its events in between.
func alternate(pairs, events int, subject, reference sampler) (ratio, error) {
	var subjects, references, repeats []float64
	for i := range pairs {
		var ours []float64
		var theirs [2][]float64
		for j := range 2 * events {
			s, err := subject()
			if err != nil {
				return ratio{}, fmt.Errorf("pair %d: %w", i+1, err)
			}
			r, err := reference()
			if err != nil {
				return ratio{}, fmt.Errorf("pair %d: %w", i+1, err)
			}
			ours, theirs[j%2] = append(ours, s), append(theirs[j%2], r)
		}
		subjects, references, repeats = append(subjects, median(ours)), append(references, median(theirs[0])), append(repeats, median(theirs[1]))
	}
	return ratioOf(subjects, references, repeats), nil
}

// ratioOf compares what was measured round by round. The
// reference's second measurements are repeats.
func ratioOf(subjects, references, repeats []float64) ratio {
	quotients, selves := make([]float64, len(subjects)), make([]float64, len(repeats))
	for i := range subjects {
		quotients[i] = subjects[i] / references[i]
	}
	for i := range repeats {
		// Each way round in turn, so that what comes of being second cancels out.
		if selves[i] = repeats[i] / references[i]; i%2 == 1 {
			selves[i] = references[i] / repeats[i]
		}
	}
	low, high := medianInterval(quotients)
	return ratio{
		Median: median(quotients), Low: low, High: high, Pairs: len(subjects), Self: median(selves),
		Subject: median(subjects), Reference: median(references),
	}
}

// measurable reports whether the floor agreed with itself.
func (r ratio) measurable() bool { return math.Abs(r.Self-1) <= 0.05 }

// String writes "0.93 (0.91 ... 0.95)", or that it cannot be measured.
func (r ratio) String() string {
	if !r.measurable() {
		return fmt.Sprintf("not measurable here (%.2f, self %.2f)", r.Median, r.Self)
	}
	return fmt.Sprintf("%.2f (%.2f ... %.2f)", r.Median, r.Low, r.High)
}

func median(values []float64) float64 { return quantile(values, 0.5) }

// quantile interpolates between the two nearest values.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	at := q * float64(len(sorted)-1)
	below := int(at)
	if below+1 == len(sorted) {
		return sorted[below]
	}
	return sorted[below] + (at-float64(below))*(sorted[below+1]-sorted[below])
}

// medianInterval is the 95 % interval of a median by order statistics, which
// assumes nothing about the distribution.
func medianInterval(values []float64) (low, high float64) {
	sorted := slices.Sorted(slices.Values(values))
	n := float64(len(sorted))
	half := 1.96 * math.Sqrt(n) / 2
	first := max(int(math.Floor(n/2-half)), 0)
	last := min(int(math.Ceil(n/2+half)), len(sorted)-1)
	return sorted[first], sorted[last]
}
