package serve

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/settings"
)

// model returns the flags of the command.
func model(t testing.TB) map[string]*kong.Flag {
	t.Helper()
	var cli struct {
		Serve Command `cmd:""`
	}
	parser, err := kong.New(&cli, kong.Vars{"version": "x"})
	if err != nil {
		t.Fatal(err)
	}
	flags := map[string]*kong.Flag{}
	for _, f := range parser.Model.Children[0].Flags {
		flags[f.Name] = f
	}
	return flags
}

// TestSettings: each setting has the same name as a flag, in the environment and in the file, and a row in the guide.
func TestSettings(t *testing.T) {
	guide, err := os.ReadFile("../../../../docs/serve.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range model(t) {
		if slices.Contains(settings.NotInFile, name) {
			continue
		}
		variable := "MEANWHILE_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		if !slices.Equal(f.Envs, []string{variable}) {
			t.Errorf("--%s has the variables %v, want %s", name, f.Envs, variable)
		}
		row := fmt.Sprintf("| `--%s` | `%s` | `%s` | ", name, variable, name)
		if f.HasDefault {
			row += "`" + f.Default + "` |"
		}
		if !strings.Contains(string(guide), row) {
			t.Errorf("the guide has no row %s", row)
		}
	}
}

// FuzzConfig reads arbitrary files: errors have the name of the setting, and flags accept valid values.
func FuzzConfig(f *testing.F) {
	for _, seed := range []string{"listen: x\nqueue: [a, 'b,c:2']\n", "a: &a [*a]\n", "{}", "- 1", "? [x]\n: y", "user: {a: b}\nuser: c", "\x00", "concurrency: 0x10", "!!binary no-auth: yes", "queue: [[a]]"} {
		f.Add(seed)
	}
	flags := model(f)
	f.Fuzz(func(t *testing.T, text string) {
		name := t.TempDir() + "/c.yaml"
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		values, err := file.Read(name, flags)
		if err != nil {
			if lines := strings.Split(err.Error(), "\n"); !strings.HasSuffix(strings.SplitN(lines[0], ":", 2)[0], "c.yaml") {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		for key := range values {
			if flags[key] == nil {
				t.Errorf("%q: the key %s was accepted", text, key)
			}
		}
	})
}
