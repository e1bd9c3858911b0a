package meanwhile_test

import (
	"os/exec"
	"path"
	"strings"
	"testing"
)

// withoutModules lists the packages that README.md promises to depend on no module except this one and the standard library.
var withoutModules = []string{".", "retry", "inspect", "tasklog", "measure", "job", "job/memory", "live", "api"}

// TestPackagesWithoutModules checks that these packages link no other module.
func TestPackagesWithoutModules(t *testing.T) {
	if len(linkedModules(t, withoutModules...)) == 0 {
		return
	}
	for _, name := range withoutModules {
		for _, module := range linkedModules(t, name) {
			t.Errorf("%s links %s", name, module)
		}
	}
}

// TestPackagesWithoutModulesViolations checks that a package with such dependencies is detected.
func TestPackagesWithoutModulesViolations(t *testing.T) {
	if modules := strings.Join(linkedModules(t, "job/postgres"), " "); !strings.Contains(modules, "github.com/jackc/pgx/v5") {
		t.Errorf("job/postgres links %s, want github.com/jackc/pgx/v5 among others", modules)
	}
}

// linkedModules returns the module paths of all packages that the named packages of this module link, except those of the
// standard library and of this module.
func linkedModules(t *testing.T, names ...string) []string {
	t.Helper()
	const format = `{{if .Module}}{{if not .Module.Main}}{{.Module.Path}}{{end}}{{end}}`
	args := []string{"list", "-deps", "-f", format}
	for _, name := range names {
		args = append(args, path.Join(modulePath, name))
	}
	out, err := exec.Command("go", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	return strings.Fields(string(out))
}
