package main

import (
	"encoding/json"
	"reflect"
	"time"

	"github.com/invopop/jsonschema"
	"github.com/spf13/cobra"

	"github.com/polygate/gateway/bus"
	"github.com/polygate/gateway/ca"
	"github.com/polygate/gateway/device/describe"
	"github.com/polygate/gateway/device/serial"
	"github.com/polygate/gateway/internal/ops"
)

func newSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the configuration file, for editors",
		Long: `Prints the JSON Schema (draft 2020-12) of the configuration file. With

  # yaml-language-server: $schema=gateway.schema.json

as the first line of the file, many editors complete and check it as you type.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			data, err := json.MarshalIndent(fileSchema(), "", "  ")
			if err != nil {
				return err
			}
			_, err = c.OutOrStdout().Write(append(data, '\n'))
			return err
		},
	}
}

// fileSchema describes the file from the same types that it is decoded into.
func fileSchema() *jsonschema.Schema {
	reflector := &jsonschema.Reflector{
		FieldNameTag: "yaml", DoNotReference: true, Anonymous: true,
		RequiredFromJSONSchemaTags: true, Mapper: schemaOf,
	}
	part := func(v any) *jsonschema.Schema {
		s := reflector.Reflect(v)
		s.Version = ""
		return s
	}
	frontends := object()
	for _, t := range frontendTypes {
		frontends.Properties.Set(t.name, part(t.config()))
	}
	var devices []*jsonschema.Schema
	for _, t := range driverTypes {
		device := part(t.config())
		device.Properties.Set("driver", &jsonschema.Schema{Const: t.name})
		device.Required = append(device.Required, "driver")
		if t.needLine {
			device.Properties.Set("link", &jsonschema.Schema{Type: "string", Description: "A name from links"})
			device.Required = append(device.Required, "link")
		}
		devices = append(devices, device)
	}
	top := object()
	top.Version = jsonschema.Version
	top.Title = "polygate configuration"
	top.Properties.Set("bus", part(bus.Config{}))
	top.Properties.Set("frontends", frontends)
	top.Properties.Set("links", mapOf(part(linkConfig{})))
	top.Properties.Set("devices", mapOf(&jsonschema.Schema{OneOf: devices}))
	top.Properties.Set("ops", part(ops.Config{}))
	return top
}

func object() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(), AdditionalProperties: jsonschema.FalseSchema}
}

func mapOf(values *jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", AdditionalProperties: values}
}

// schemaOf describes the types that take more forms in the file than their Go
// type shows.
func schemaOf(t reflect.Type) *jsonschema.Schema {
	text := &jsonschema.Schema{Type: "string"}
	number := &jsonschema.Schema{Type: "number"}
	whole := &jsonschema.Schema{Type: "integer", Minimum: json.Number("1")}
	switch t {
	case reflect.TypeFor[time.Duration]():
		return &jsonschema.Schema{Type: "string", Pattern: `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`, Examples: []any{"200ms", "5s"}}
	case reflect.TypeFor[describe.Number]():
		return number
	case reflect.TypeFor[describe.Scalar]():
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{text, number, {Type: "boolean"}}}
	case reflect.TypeFor[describe.Shape]():
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{whole, {Type: "array", Items: whole}}}
	case reflect.TypeFor[describe.Initial]():
		return &jsonschema.Schema{} // of the attribute's kind
	case reflect.TypeFor[ca.Endpoints]():
		one := oneOrStruct[ca.Endpoint]()
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string"}, {Type: "array", Items: one}}}
	case reflect.TypeFor[describe.State]():
		return oneOrStruct[describe.State]()
	case reflect.TypeFor[describe.Level]():
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{number, structSchema[describe.Level]()}}
	case reflect.TypeFor[serial.Length]():
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{whole, structSchema[serial.Length]()}}
	case reflect.TypeFor[serial.Steps]():
		step := oneOrStruct[serial.Step]()
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{step, {Type: "array", Items: step}}}
	}
	return nil
}

// oneOrStruct is a text, or the mapping with everything.
func oneOrStruct[T any]() *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string"}, {Type: "boolean"}, {Type: "number"}, structSchema[T]()}}
}

// structSchema describes a struct by its fields, past the Mapper's entry for
// the type itself.
func structSchema[T any]() *jsonschema.Schema {
	out := object()
	t := reflect.TypeFor[T]()
	reflector := &jsonschema.Reflector{
		FieldNameTag: "yaml", DoNotReference: true, Anonymous: true, RequiredFromJSONSchemaTags: true,
		Mapper: func(field reflect.Type) *jsonschema.Schema {
			if field == t {
				return nil
			}
			return schemaOf(field)
		},
	}
	s := reflector.ReflectFromType(t)
	out.Properties = s.Properties
	return out
}
