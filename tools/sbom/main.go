// Sbom lists what is linked into a Go program, as a CycloneDX document on
// standard output, and collects the licences of all of it. What is linked it
// reads from the program itself, so the list cannot be out of date.
package main

import (
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"
)

type options struct {
	program, version, licence string
	modules, goroot, licences string
}

func main() {
	var o options
	flag.StringVar(&o.program, "program", "", "the Go program")
	flag.StringVar(&o.version, "version", "", "its version")
	flag.StringVar(&o.licence, "licence", "", "its licence")
	flag.StringVar(&o.modules, "modules", "", "the module cache (go env GOMODCACHE)")
	flag.StringVar(&o.goroot, "goroot", "", "where Go is (go env GOROOT)")
	flag.StringVar(&o.licences, "licences", "", "the folder to copy licences to")
	flag.Parse()
	if err := o.run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// document is the part of CycloneDX 1.5 that is used here.
type document struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl"`
	Licences   []licensed `json:"licenses"`
	Properties []property `json:"properties,omitempty"`
}

type licensed struct {
	Licence identifier `json:"license"`
}

type identifier struct {
	ID string `json:"id"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func (o *options) run(out io.Writer) error {
	info, err := buildinfo.ReadFile(o.program)
	if err != nil {
		return fmt.Errorf("%s is no Go program that tells its modules: %w", o.program, err)
	}
	main, err := o.component("application", info.Main.Path, o.version, o.licence)
	if err != nil {
		return err
	}
	std, err := o.component("library", "std", strings.TrimPrefix(info.GoVersion, "go"), filepath.Join(o.goroot, "LICENSE"))
	if err != nil {
		return err
	}
	sbom := document{Format: "CycloneDX", Spec: "1.5", Version: 1, Metadata: metadata{main}, Components: []component{std}}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		files, err := licenceFiles(filepath.Join(o.modules, escape(module.Path)+"@"+escape(module.Version)))
		if err != nil {
			return err
		}
		c, err := o.component("library", module.Path, module.Version, files...)
		if err != nil {
			return err
		}
		c.Properties = []property{{"go:sum", module.Sum}}
		sbom.Components = append(sbom.Components, c)
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", " ")
	return encoder.Encode(sbom)
}

// component describes a module and keeps its licence files.
func (o *options) component(kind, name, version string, files ...string) (component, error) {
	c := component{Type: kind, Name: name, Version: version, PURL: "pkg:golang/" + name + "@" + version}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return c, fmt.Errorf("reading the licence of %s: %w", name, err)
		}
		if id := identify(string(text)); id != "" {
			c.Licences = append(c.Licences, licensed{identifier{id}})
		}
		kept := filepath.Join(o.licences, filepath.FromSlash(name), filepath.Base(file))
		if err := os.MkdirAll(filepath.Dir(kept), 0o755); err != nil {
			return c, err
		}
		if err := os.WriteFile(kept, text, 0o644); err != nil {
			return c, err
		}
	}
	if len(c.Licences) == 0 {
		return c, fmt.Errorf("%s: none of %q is a licence that is known here", name, files)
	}
	return c, nil
}

// licenceFiles finds the licences and notices of a module, which have to go
// wherever the program goes.
func licenceFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is not in the module cache", dir)
	}
	if err != nil {
		return nil, err
	}
	var files []string
	for _, entry := range entries {
		switch name := strings.ToUpper(entry.Name()); {
		case entry.IsDir():
		case strings.HasPrefix(name, "LICENSE"), strings.HasPrefix(name, "LICENCE"), strings.HasPrefix(name, "COPYING"), strings.HasPrefix(name, "NOTICE"):
			files = append(files, filepath.Join(dir, entry.Name()))
		}
	}
	return files, nil
}

// identify tells a licence by words that only it has, and returns its SPDX name
// or nothing.
func identify(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	for _, known := range []struct{ words, id string }{
		{"Apache License Version 2.0", "Apache-2.0"},
		{"Mozilla Public License Version 2.0", "MPL-2.0"},
		{"Mozilla Public License, version 2.0", "MPL-2.0"},
		{"Permission to use, copy, modify, and/or distribute this software", "ISC"},
		{"Permission to use, copy, modify, and distribute this software", "ISC"},
		{"Neither the name of", "BSD-3-Clause"},
		{"Redistribution and use in source and binary forms", "BSD-2-Clause"},
		{"Permission is hereby granted, free of charge", "MIT"},
	} {
		if strings.Contains(text, known.words) {
			return known.id
		}
	}
	return ""
}

// escape writes a module's path or version as the module cache does: capitals
// become an exclamation mark and a small letter.
func escape(s string) string {
	var escaped strings.Builder
	for _, r := range s {
		if unicode.IsUpper(r) {
			escaped.WriteByte('!')
			r = unicode.ToLower(r)
		}
		escaped.WriteRune(r)
	}
	return escaped.String()
}
