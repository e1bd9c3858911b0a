package docs_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/faults/harm"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/sqlite"
)

// A tutorialStep is a section of the tutorial: the program as it is then, and what a reader types.
type tutorialStep struct {
	title    string
	files    map[string]string // by name, those of the steps before included
	changed  bool              // it has files of its own
	commands []block           // of the kind sh, each followed by its output if it has one
	outputs  []string
}

// tutorialSteps reads the steps of the tutorial.
func tutorialSteps(t *testing.T) []*tutorialStep {
	t.Helper()
	var steps []*tutorialStep
	files := map[string]string{}
	blocks := readBlocks(t, "tutorial.md")
	for i, b := range blocks {
		if len(steps) == 0 || steps[len(steps)-1].title != b.section {
			steps = append(steps, &tutorialStep{title: b.section, files: map[string]string{}})
		}
		s := steps[len(steps)-1]
		switch {
		case b.file != "":
			files[b.file], s.changed = b.text, true
		case b.kind == "sh":
			output := ""
			if i+1 < len(blocks) && blocks[i+1].kind == "output" {
				output = blocks[i+1].text
			}
			s.commands, s.outputs = append(s.commands, b), append(s.outputs, output)
		}
		for name, text := range files {
			s.files[name] = text
		}
	}
	return steps
}

// TestTutorial builds the program of each step, starts it, types what the tutorial says, and stops it.
func TestTutorial(t *testing.T) {
	testenv.LongTest(t)
	testenv.Program(t, "sh")
	testenv.Program(t, "curl")
	module := newModule(t)
	steps := tutorialSteps(t)
	for i, s := range steps {
		if !s.changed {
			continue // the program is that of the step before
		}
		for name, text := range s.files {
			writeFile(t, filepath.Join(module, fmt.Sprintf("step%d", i+1), name), text)
		}
	}
	runGo(t, module, "vet", "./...")
	runGo(t, module, "build", "-o", filepath.Join(module, "bin")+string(filepath.Separator), "./...")
	programs := 0
	for i, s := range steps {
		t.Run(s.title, func(t *testing.T) {
			folder := filepath.Join(module, fmt.Sprintf("step%d", i+1))
			if _, ok := s.files["order_test.go"]; ok || !s.changed {
				typeCommands(t, s, folder, "")
				return
			}
			programs++
			runStep(t, s, folder, filepath.Join(module, "bin", filepath.Base(folder)))
		})
	}
	if programs < 4 {
		t.Errorf("the tutorial has %d steps that run", programs)
	}
}

// TestTutorialTidies finds "go mod tidy" in each step whose files import a package of this module that no step before has imported: go get
// adds the checksums of one package, and without those of the others the program does not build.
func TestTutorialTidies(t *testing.T) {
	text, err := os.ReadFile("tutorial.md")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{"github.com/meanwhile-go/meanwhile": true} // what the first go get is for
	imported := regexp.MustCompile(`"(github\.com/meanwhile-go/meanwhile[^"]*)"`)
	for _, step := range strings.Split(string(text), "\n## ")[1:] {
		title, rest, _ := strings.Cut(step, "\n")
		var added []string
		for _, match := range imported.FindAllStringSubmatch(rest, -1) {
			if !used[match[1]] {
				used[match[1]] = true
				added = append(added, match[1])
			}
		}
		if len(added) > 0 && !strings.Contains(rest, "go mod tidy") && !strings.HasPrefix(title, "5.") { // that of jobtest needs no module more
			t.Errorf("step %q imports %q and does not have go mod tidy", title, added)
		}
	}
	if len(used) < 6 {
		t.Errorf("the tutorial imports %d packages", len(used))
	}
}

// newModule makes a module that uses this one as it is here, without the network.
func newModule(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	ours, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	_, requires, _ := strings.Cut(string(ours), "\nrequire")
	const path = "github.com/meanwhile-go/meanwhile"
	writeFile(t, filepath.Join(folder, "go.mod"), fmt.Sprintf("module example.com/shop\n\ngo 1.26.0\n\nrequire %s v0.0.0\nreplace %s => %s\n\nrequire%s", path, path, root, requires))
	writeFile(t, filepath.Join(folder, "go.sum"), string(sums))
	return folder
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// runGo runs a go command in a folder, without the network.
func runGo(t *testing.T, folder string, args ...string) {
	t.Helper()
	run := exec.Command("go", args...)
	run.Dir = folder
	run.Env = append(os.Environ(), "GOPROXY=off", flagsWithMod())
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// flagsWithMod lets go commands complete go.mod. It keeps the flags that are set, with which packages have been compiled.
func flagsWithMod() string { return "GOFLAGS=" + strings.TrimSpace(os.Getenv("GOFLAGS")+" -mod=mod") }

// runStep starts the program of a step in its folder, types its commands, waits for its jobs, and stops it.
func runStep(t *testing.T, s *tutorialStep, folder, program string) {
	t.Helper()
	address := freeAddress(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	run := exec.CommandContext(ctx, program)
	run.Dir = folder
	run.Env = append(os.Environ(), "LISTEN="+address, "DASH_PASSWORD=secret")
	log := &programLog{listening: make(chan struct{})}
	run.Stdout, run.Stderr = log, log
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-log.listening:
	case <-ctx.Done():
		t.Fatalf("it does not listen\n%s", log)
	}
	typeCommands(t, s, folder, address)
	if database := filepath.Join(folder, "shop.db"); s.files["order.go"] != "" {
		waitForJobs(ctx, t, database)
	}
	if err := run.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := run.Wait(); err != nil {
		t.Errorf("it ended with %v\n%s", err, log)
	}
	if s.files["order.go"] != "" && strings.Count(log.String(), "receipt sent") != strings.Count(strings.Join(s.outputs, ""), `"order"`) {
		t.Errorf("there is a receipt for each order: %q\n%s", s.outputs, log)
	}
}

// freeAddress returns a loopback address on which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	port, err := harm.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}

// A programLog keeps what a program prints, and closes listening when it says that it listens.
type programLog struct {
	mu        sync.Mutex
	text      []byte
	listening chan struct{}
	once      sync.Once
}

// Write is called by one goroutine of os/exec.
func (l *programLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	if bytes.Contains(l.text, []byte("listening")) {
		l.once.Do(func() { close(l.listening) })
	}
	return len(p), nil
}

func (l *programLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}

// waitForJobs waits until the jobs in a file have completed.
func waitForJobs(ctx context.Context, t *testing.T, database string) {
	t.Helper()
	store, err := sqlite.Open(ctx, database)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for j, err := range job.List(ctx, store, job.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if done, err := job.Await(ctx, store, j.ID); err != nil || done.State != job.Completed {
			t.Errorf("the job is %+v, %v", done, err)
		}
	}
}

// typeCommands runs the commands of a step in its folder, and compares what they print.
func typeCommands(t *testing.T, s *tutorialStep, folder, address string) {
	t.Helper()
	for i, b := range s.commands {
		run := exec.CommandContext(t.Context(), "sh", "-ec", strings.ReplaceAll(b.text, "localhost:8080", address))
		run.Dir = folder
		run.Env = append(os.Environ(), "GOPROXY=off", flagsWithMod(), "no_proxy=*")
		out, err := run.CombinedOutput()
		if err != nil || s.outputs[i] != "" && string(out) != s.outputs[i] {
			t.Errorf("%v: %v: got\n%s\nwant\n%s", b, err, out, s.outputs[i])
		}
	}
}
