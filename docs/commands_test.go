package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/sqlite"
)

// TestCommands runs each command about jobs that stands in a guide, on a store of its own. Each is understood; whether there
// is something for it to do is another matter.
func TestCommands(t *testing.T) {
	testenv.LongTest(t)
	testenv.Program(t, "sh")
	folder := t.TempDir()
	putCommand(t, folder)
	url := "sqlite:" + filepath.Join(folder, "jobs.db")
	store, err := sqlite.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	enqueued, err := SendMail.Enqueue(t.Context(), store, Mail{User: 7}, job.Unique("one"))
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile("(?m)^meanwhile jobs .*$|`meanwhile jobs [^`]*`")
	elsewhere := regexp.MustCompile(`--store \S+`)
	found := 0
	for _, guide := range guides(t) {
		text, err := os.ReadFile(guide)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range command.FindAllString(string(text), -1) {
			found++
			line = elsewhere.ReplaceAllString(strings.Trim(line, "`"), "")
			line = strings.NewReplacer(" ID", " "+enqueued.ID.String(), " NAME", " mail").Replace(line)
			shell := func(line string) (*exec.Cmd, string, error) {
				run := exec.Command("sh", "-c", line)
				run.Dir = folder
				run.Env = append(os.Environ(), "MEANWHILE_STORE="+url, "PATH="+folder+string(os.PathListSeparator)+os.Getenv("PATH"))
				out, err := run.CombinedOutput()
				return run, string(out), err
			}
			run, out, err := shell(line)
			if strings.Contains(out, "add --yes") { // nobody is there to be asked
				run, out, err = shell(line + " --yes")
			}
			if code := run.ProcessState.ExitCode(); code != 0 && code != 1 {
				t.Errorf("%s: %s: %v\n%s", guide, line, err, out)
			}
		}
	}
	if found == 0 {
		t.Error("no guide has a command about jobs")
	}
}
