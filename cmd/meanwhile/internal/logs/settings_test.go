package logs

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/settings"
)

// TestSettings: each setting has the same name as a flag, in the environment and in the file, and a row in the guide.
func TestSettings(t *testing.T) {
	guide, err := os.ReadFile("../../../../docs/logs.md")
	if err != nil {
		t.Fatal(err)
	}
	var cli struct {
		Serve Serve `cmd:""`
	}
	parser, err := kong.New(&cli, kong.Vars{"version": "x"})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range parser.Model.Children[0].Flags {
		if slices.Contains(settings.NotInFile, f.Name) {
			continue
		}
		variable := "MEANWHILE_LOGS_SERVE_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		if !slices.Equal(f.Envs, []string{variable}) {
			t.Errorf("--%s has the variables %v, want %s", f.Name, f.Envs, variable)
		}
		row := fmt.Sprintf("| `--%s` | `%s` | `%s` | ", f.Name, variable, f.Name)
		if f.HasDefault {
			row += "`" + f.Default + "` |"
		}
		if !strings.Contains(string(guide), row) {
			t.Errorf("the guide has no row %s", row)
		}
	}
}

// FuzzRoutes reads arbitrary files: errors have a line number.
func FuzzRoutes(f *testing.F) {
	for _, seed := range []string{
		"routes: [{service: [a, b*], level: warn, words: x, dedupe: true, to: [store, {file: a, mode: '0640', max-bytes: 1MB, daily: true, max-age: 3d}]}]\nlimits: [{service: a, rate: 1.5, burst: 3}]",
		"redact: [{name: a, attributes: [b, c.*], message: 'x+', with: y}, {attributes: d}]", "redact: [{message: [x]}]", "redact: x",
		"keep: [{service: [a, b*], age: 1d, size: 1GiB}, {service: c, age: 0}]", "keep: [{service: a}]",
		"alerts: [{name: a, filter: level>=error, count: 20, window: 5m, quiet: 1h, webhook: 'https://example.com/a'}]", "alerts: [{name: a, count: 1, window: 1d}]", "alerts: x",
		"routes: [{to: stdout, fraction: .000}, {to: store, fraction: 3}]", "routes: {}", "routes: [[]]", "limits: [{rate: NaN}]", "routes: [{to: socket:a}]", "routes: &a [*a]", "routes: [{to: {file: x, max-bytes: 99999999999TiB}}]",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		name := t.TempDir() + "/c.yaml"
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var r routeSettings
		if _, err := r.file().Read(name, map[string]*kong.Flag{}); err != nil {
			return
		}
		for _, l := range r.limits {
			if !(l.Rate > 0) {
				t.Errorf("%q: a rate of %v", text, l.Rate)
			}
		}
		for _, rule := range r.redact {
			if err := rule.Check(); err != nil {
				t.Errorf("%q: %v", text, err)
			}
		}
		for _, a := range r.alerts {
			if err := a.Check(); err != nil {
				t.Errorf("%q: %v", text, err)
			}
		}
		for _, route := range r.routes {
			if len(route.To) == 0 {
				t.Errorf("%q: a route leads nowhere", text)
			}
		}
	})
}
