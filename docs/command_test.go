package docs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

var builtCommand string // in a folder of its own, which TestMain removes

func TestMain(m *testing.M) {
	code := m.Run()
	if builtCommand != "" {
		_ = os.RemoveAll(filepath.Dir(builtCommand))
	}
	os.Exit(code)
}

// buildCommand builds the command, once for all tests.
var buildCommand = sync.OnceValue(func() error {
	folder, err := os.MkdirTemp("", "meanwhile-*")
	if err != nil {
		return err
	}
	builtCommand = filepath.Join(folder, "meanwhile.exe")
	out, err := exec.Command("go", "build", "-o", builtCommand, "../cmd/meanwhile").CombinedOutput()
	if err != nil {
		return fmt.Errorf("build the command: %w\n%s", err, out)
	}
	return nil
})

// putCommand puts the command into a folder, as meanwhile, and returns its path.
func putCommand(t *testing.T, folder string) string {
	t.Helper()
	if err := buildCommand(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "meanwhile")
	if err := os.Symlink(builtCommand, path); err != nil {
		t.Fatal(err)
	}
	return path
}
