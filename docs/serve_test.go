package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
)

// TestServeCommands runs the commands of the guides to the servers.
func TestServeCommands(t *testing.T) {
	testenv.Program(t, "sh")
	folder := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", filepath.Join(folder, "meanwhile"), "../cmd/meanwhile").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, b := range slices.Concat(readBlocks(t, "serve.md"), readBlocks(t, "logs.md"), readBlocks(t, "logs-forward.md")) {
		if b.kind != "sh" {
			continue
		}
		run := exec.CommandContext(t.Context(), "sh", "-ec", b.text)
		run.Dir = folder
		run.Env = append(os.Environ(), "PATH="+folder+string(os.PathListSeparator)+os.Getenv("PATH"))
		if out, err := run.CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", b, err, out)
		}
	}
}

// TestUnit lets systemd look at the unit, with a program that is there in the place of ours.
func TestUnit(t *testing.T) {
	testenv.Program(t, "systemd-analyze")
	text, err := os.ReadFile("../deploy/meanwhile.service")
	if err != nil {
		t.Fatal(err)
	}
	unit := filepath.Join(t.TempDir(), "meanwhile.service")
	there := strings.Replace(string(text), "ExecStart=/usr/local/bin/meanwhile", "ExecStart=/bin/true", 1)
	if err := os.WriteFile(unit, []byte(there), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("systemd-analyze", "verify", "--man=no", unit).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("verify: %v\n%s", err, out)
	}
	if out, err := exec.Command("systemd-analyze", "security", "--offline=true", "--threshold=15", unit).CombinedOutput(); err != nil {
		t.Errorf("the unit may do too much: %v\n%s", err, out)
	}
}
