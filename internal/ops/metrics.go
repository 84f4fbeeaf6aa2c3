package ops

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// A Family is one metric whose samples are read from a part's own counters when
// somebody scrapes, so that nothing is counted twice on the way of a sample.
type Family struct {
	Name    string
	Help    string
	Counter bool // else a gauge
	Labels  []string
	// Read calls emit once for each sample, with as many labels as Labels has.
	Read func(emit func(value float64, labels ...string))
}

// NewRegistry returns a registry of families, with the Go runtime's and the
// process's own metrics beside them.
func NewRegistry(families []Family) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	for _, family := range families {
		registry.MustRegister(collector{
			Family: family,
			desc:   prometheus.NewDesc(family.Name, family.Help, family.Labels, nil),
		})
	}
	return registry
}

type collector struct {
	Family
	desc *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (c collector) Describe(ch chan<- *prometheus.Desc) { ch <- c.desc }

// Collect implements prometheus.Collector.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	kind := prometheus.GaugeValue
	if c.Counter {
		kind = prometheus.CounterValue
	}
	c.Read(func(value float64, labels ...string) {
		metric, err := prometheus.NewConstMetric(c.desc, kind, value, labels...)
		if err != nil {
			metric = prometheus.NewInvalidMetric(c.desc, err)
		}
		ch <- metric
	})
}

// Value makes the Read of a family that has one sample without labels.
func Value(read func() float64) func(emit func(float64, ...string)) {
	return func(emit func(float64, ...string)) { emit(read()) }
}
