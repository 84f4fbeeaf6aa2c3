package ca

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/polygate/gateway"
)

func named(d *gateway.Descriptor, name string) *gateway.Descriptor {
	d.Annotations = map[string]string{AnnotationName: name}
	return d
}

func deviceX(prefix string) []*gateway.Device {
	return []*gateway.Device{{Name: "x", DeviceInfo: gateway.DeviceInfo{Annotations: map[string]string{AnnotationPrefix: prefix}}}}
}

// found says for each name what it stands for.
func found(d *directory, names ...string) (list []string) {
	for _, name := range names {
		word := "-"
		if r := d.record(name); r != nil {
			word = string(r.path) + " " + r.role.String()
		}
		list = append(list, word)
	}
	return list
}

func TestOneEntryAnswersForBothNames(t *testing.T) {
	w := gateway.AccessWrite
	d := newDirectory(nil, zerolog.Nop(), nil)
	d.setPrefixes(deviceX("LAB"))
	for _, desc := range []*gateway.Descriptor{
		float("level", r), float("start", rw), float("go", w), named(float("other", rw), "My:Name"),
	} {
		if !d.put(desc) {
			t.Errorf("%s was no news", desc.Path)
		}
	}
	got := found(d, "LAB:Level", "LAB:Level_RBV", "LAB:Start", "LAB:Start_RBV", "LAB:Go", "LAB:Go_RBV", "LAB:Other", "My:Name", "My:Name_RBV", "")
	want := []string{
		"x.level readback", "-", "x.start setpoint", "x.start readback", "x.go setpoint", "-", "-", "x.other setpoint", "x.other readback", "-",
	}
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	if d.count() != 6 {
		t.Errorf("%d names, want 6", d.count())
	}
	for _, path := range []gateway.Path{"x.level", "x.start", "x.go", "x.other"} {
		d.drop(path)
	}
	if d.count() != 0 || len(d.given) != 0 || len(d.records) != 0 {
		t.Errorf("left: %v, %v, %v", d.listed, d.given, d.records)
	}
}

func TestNamesFollowTheDescriptorAndThePrefix(t *testing.T) {
	d := newDirectory(nil, zerolog.Nop(), nil)
	d.setPrefixes(deviceX(""))
	names := []string{"X:Start", "X:Start_RBV", "Own", "Own_RBV", "LAB:Start"}
	steps := []struct {
		name string
		do   func() bool
		news bool
		want []string
	}{
		{"entered", func() bool { return d.put(float("start", rw)) }, true, []string{"x.start setpoint", "x.start readback", "-", "-", "-"}},
		{"given a name", func() bool { return d.put(named(float("start", rw), "Own")) }, true, []string{"-", "-", "x.start setpoint", "x.start readback", "-"}},
		{"read-only", func() bool { return d.put(named(float("start", r), "Own")) }, true, []string{"-", "-", "x.start readback", "-", "-"}},
		{"without the name", func() bool { return d.put(float("start", r)) }, true, []string{"x.start readback", "-", "-", "-", "-"}},
		{"another prefix", func() bool { return d.setPrefixes(deviceX("LAB")) }, true, []string{"-", "-", "-", "-", "x.start readback"}},
		{"the same prefix", func() bool { return d.setPrefixes(deviceX("LAB")) }, false, []string{"-", "-", "-", "-", "x.start readback"}},
	}
	for _, step := range steps {
		if news := step.do(); news != step.news {
			t.Errorf("%s: news %v", step.name, news)
		}
		if got := found(d, names...); !slices.Equal(got, step.want) {
			t.Errorf("%s: found %q, want %q", step.name, got, step.want)
		}
	}
	same := float("level", rw)
	if !d.put(same) || d.put(same) {
		t.Error("the same descriptor was news twice")
	}
}

func TestOfTwoAttributesWithOneNameTheFirstIsServed(t *testing.T) {
	long := strings.Repeat("n", MaxName-len(ReadbackSuffix)+1)
	var log bytes.Buffer
	d := newDirectory(nil, zerolog.New(&log), nil)
	for _, desc := range []*gateway.Descriptor{
		named(float("a", rw), "N"), named(float("b", r), "N"), named(float("c", r), "N_RBV"),
		named(float("d", r), "M_RBV"), named(float("e", rw), "M"),
		named(float("f", rw), long), named(float("g", r), long+ReadbackSuffix),
	} {
		d.put(desc)
	}
	got := found(d, "N", "N_RBV", "M_RBV", "M", long, long+ReadbackSuffix)
	want := []string{"x.a setpoint", "x.a readback", "x.d readback", "x.e setpoint", "x.f setpoint", "-"}
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	for _, word := range []string{`"attribute":"x.b"`, `"attribute":"x.c"`, `"attribute":"x.e"`, `"attribute":"x.f"`, `"attribute":"x.g"`} {
		if !strings.Contains(log.String(), word) {
			t.Errorf("the log does not say %s:\n%s", word, log.String())
		}
	}
	if d.count() != 5 {
		t.Errorf("%d names, want 5", d.count())
	}
	// Who takes a name of another later is not served any more.
	if !d.put(named(float("d", r), "N")) || d.put(named(float("d", r), "N")) {
		t.Error("that a name went is news, once")
	}
	if got := found(d, "N", "M_RBV"); !slices.Equal(got, []string{"x.a setpoint", "x.e readback"}) {
		t.Errorf("then found %q", got)
	}
}
