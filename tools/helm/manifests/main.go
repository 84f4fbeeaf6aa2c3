// Manifests checks Kubernetes manifests without a cluster: it reads YAML from
// standard input, decodes each object strictly into the types of the API, so
// that a misspelt or misplaced field is found, and says which level of the Pod
// Security Standards each pod passes.
//
// It prints one line an object: kind, name, and for pods the strictest level
// (restricted, baseline or privileged). It exits with 1 if an object is wrong.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	gateway "sigs.k8s.io/gateway-api/apis/v1"
)

func main() {
	if err := check(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// check reads objects until the end and reports everything that is wrong.
func check(in io.Reader, out io.Writer) error {
	types := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, monitoring.AddToScheme, gateway.Install} {
		if err := add(types); err != nil {
			return err
		}
	}
	decoder := serializer.NewCodecFactory(types, serializer.EnableStrict).UniversalDeserializer()
	levels, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		return err
	}
	var wrong []error
	for documents := yaml.NewDocumentDecoder(io.NopCloser(in)); ; {
		text, err := next(documents)
		if errors.Is(err, io.EOF) {
			return errors.Join(wrong...)
		}
		if err != nil {
			return err
		}
		if empty(text) {
			continue
		}
		object, kind, err := decoder.Decode(text, nil, nil)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%w in:\n%s", err, text))
			continue
		}
		fmt.Fprintln(out, strings.TrimSpace(kind.Kind+" "+name(object)+" "+level(levels, object)))
	}
}

// next reads one document, whatever its length.
func next(documents io.Reader) ([]byte, error) {
	var text bytes.Buffer
	part := make([]byte, 64<<10)
	for {
		n, err := documents.Read(part)
		text.Write(part[:n])
		if !errors.Is(err, io.ErrShortBuffer) {
			return text.Bytes(), err
		}
	}
}

// empty reports whether a document holds nothing but comments.
func empty(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' && !bytes.Equal(line, []byte("---")) {
			return false
		}
	}
	return true
}

func name(object runtime.Object) string {
	if o, ok := object.(metav1.Object); ok {
		return o.GetName()
	}
	return ""
}

// level returns the strictest level that the pod of an object passes, or
// nothing if it has none.
func level(levels policy.Evaluator, object runtime.Object) string {
	meta, spec := pod(object)
	if spec == nil {
		return ""
	}
	for _, level := range []api.Level{api.LevelRestricted, api.LevelBaseline} {
		at := api.LevelVersion{Level: level, Version: api.LatestVersion()}
		if policy.AggregateCheckResults(levels.EvaluatePod(at, meta, spec)).Allowed {
			return string(level)
		}
	}
	return string(api.LevelPrivileged)
}

// pod returns the pod that an object is or makes, or nothing.
func pod(object runtime.Object) (*metav1.ObjectMeta, *corev1.PodSpec) {
	var t *corev1.PodTemplateSpec
	switch o := object.(type) {
	case *corev1.Pod:
		return &o.ObjectMeta, &o.Spec
	case *appsv1.Deployment:
		t = &o.Spec.Template
	case *appsv1.StatefulSet:
		t = &o.Spec.Template
	case *batchv1.Job:
		t = &o.Spec.Template
	default:
		return nil, nil
	}
	return &t.ObjectMeta, &t.Spec
}
