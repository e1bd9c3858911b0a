// Package ruby_test runs the tests of the gem in this folder against the command meanwhile, which it builds.
package ruby_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
)

func TestMain(m *testing.M) {
	testenv.DefaultSignals()
	os.Exit(m.Run())
}

// TestGem runs each test file with the minitest that Ruby includes.
func TestGem(t *testing.T) {
	testenv.LongTest(t)
	ruby := testenv.Program(t, "ruby")
	if out, err := exec.Command(ruby, "-e", `require "active_job"; require "minitest"; require "async"`).CombinedOutput(); err != nil {
		testenv.Missing(t, "no Active Job, no minitest or no async for ruby (Debian: apt-get install ruby-activejob ruby-async): %s", firstLine(out))
	}
	binary := filepath.Join(t.TempDir(), "meanwhile")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", binary, "../../cmd/meanwhile").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	files, err := filepath.Glob("test/*_test.rb")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d files of tests, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			run := exec.CommandContext(t.Context(), ruby, "-w", file)
			run.Env = append(os.Environ(), "MEANWHILE_BINARY="+binary, "MEANWHILE_URL=", "MEANWHILE_API_TOKEN=", "RUBYOPT=")
			if out, err := run.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func firstLine(text []byte) []byte {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return line
}
