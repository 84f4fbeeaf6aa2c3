package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/polygate/gateway/device/sim"
)

// compileSchema compiles what `gateway schema` prints.
func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	var out, errs bytes.Buffer
	if code := execute(t.Context(), []string{"schema"}, &out, &errs); code != exitOK {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	document, err := jsonschema.UnmarshalJSON(&out)
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("gateway.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("gateway.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// asJSON reads YAML as a JSON Schema validator sees it.
func asJSON(t *testing.T, text []byte) any {
	t.Helper()
	var value any
	if err := yaml.Load(text, &value); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	out, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTheSchemaAcceptsGoodFilesAndRefusesWrongKeys(t *testing.T) {
	schema := compileSchema(t)
	if err := schema.Validate(asJSON(t, sim.DemoConfig)); err != nil {
		t.Errorf("the demo: %v", err)
	}
	good, _ := filepath.Glob("testdata/files/*.good.yaml")
	examples, _ := filepath.Glob("../../deploy/examples/*.yaml")
	for _, name := range append(good, examples...) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(asJSON(t, text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, text := range []string{
		"busses: {}",
		"frontends: {rset: {}}",
		"links: {line1: {prot: x}}",
		"devices: {lab: {driver: soft, attrs: {}}}",
		"devices: {lab: {driver: soft, attributes: {on: {kind: bool, valeu: 1}}}}",
		"devices: {lab: {driver: serial}}",
	} {
		if err := schema.Validate(asJSON(t, []byte(text))); err == nil {
			t.Errorf("%s passes the schema", text)
		}
	}
}
