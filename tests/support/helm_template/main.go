// Renders a Helm chart as `helm template` does, from the libraries that Helm itself is made of:
// helm_template CHART RELEASE NAMESPACE [VALUES...]. Debian has no Helm.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"sigs.k8s.io/yaml"
)

func readYaml(path string) map[string]interface{} {
	text, err := os.ReadFile(path)
	stopAt(err)
	read := map[string]interface{}{}
	if err := yaml.UnmarshalStrict(text, &read); err != nil {
		stopAt(fmt.Errorf("%s: %w", path, err))
	}
	return read
}

// merge lays other over base as Helm does: tables are merged, null removes, all else replaces.
func merge(base, other map[string]interface{}) {
	for name, value := range other {
		below, isTable := value.(map[string]interface{})
		under, wasTable := base[name].(map[string]interface{})
		switch {
		case value == nil:
			delete(base, name)
		case isTable && wasTable:
			merge(under, below)
		default:
			base[name] = value
		}
	}
}

func toYaml(value interface{}) string {
	text, err := yaml.Marshal(value)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(text), "\n")
}

// functions are those of Helm: sprig's without the environment, and a few of its own.
func functions(all *template.Template) template.FuncMap {
	known := sprig.TxtFuncMap()
	delete(known, "env")
	delete(known, "expandenv")
	known["toYaml"] = toYaml
	known["include"] = func(name string, data interface{}) (string, error) {
		var out bytes.Buffer
		err := all.ExecuteTemplate(&out, name, data)
		return out.String(), err
	}
	known["required"] = func(complaint string, value interface{}) (interface{}, error) {
		if text, is := value.(string); value == nil || is && text == "" {
			return nil, errors.New(complaint)
		}
		return value, nil
	}
	return known
}

func stopAt(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	chart := os.Args[1]
	about := readYaml(filepath.Join(chart, "Chart.yaml"))
	values := readYaml(filepath.Join(chart, "values.yaml"))
	for _, path := range os.Args[4:] {
		merge(values, readYaml(path))
	}
	data := map[string]interface{}{
		"Values":  values,
		"Release": map[string]interface{}{"Name": os.Args[2], "Namespace": os.Args[3]},
		"Chart": map[string]interface{}{
			"Name": about["name"], "Version": about["version"], "AppVersion": about["appVersion"]},
	}
	paths, err := filepath.Glob(filepath.Join(chart, "templates", "*"))
	stopAt(err)
	sort.Strings(paths)
	all := template.New("chart").Option("missingkey=zero")
	all.Funcs(functions(all))
	for _, path := range paths {
		text, err := os.ReadFile(path)
		stopAt(err)
		_, err = all.New(filepath.Base(path)).Parse(string(text))
		stopAt(err)
	}
	for _, path := range paths {
		name := filepath.Base(path)
		if strings.HasPrefix(name, "_") {
			continue
		}
		var out bytes.Buffer
		stopAt(all.ExecuteTemplate(&out, name, data))
		text := strings.TrimSpace(strings.ReplaceAll(out.String(), "<no value>", ""))
		if text != "" && strings.HasSuffix(name, ".yaml") {
			fmt.Printf("---\n%s\n", strings.TrimPrefix(text, "---\n"))
		} else if text != "" {
			for _, line := range strings.Split(text, "\n") {
				fmt.Println(strings.TrimSuffix("# "+line, " "))
			}
		}
	}
}
