package main

import (
	"context"
	"go/build"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
)

// variants are builds in which the compiler lays out calls and lines differently, or which know less of goroutines.
var variants = []struct {
	name  string
	flags []string
	args  []string
}{
	{"plain", nil, nil},
	{"race", []string{"-race"}, nil},
	{"unoptimized", []string{"-gcflags=all=-N -l -dwarf=false", fewCases}, nil},
	{"names", []string{"-tags=meanwhile_nolinkname"}, []string{"-names"}},
}

// fewCases leaves out the cases with HTTP, TLS and databases, in builds whose flags no test uses: most of the standard library would be compiled for
// these cases alone. The other variants have them.
const fewCases = "-tags=meanwhile_fewcases"

// casesInC are left out of a program that was built without cgo.
var casesInC = []string{"c-call", "c-callback", "c-blocking"}

// oneCase is how long a case may take on a busy machine: until its tasks are stuck, and for all snapshots.
const oneCase = 6 * patience

// TestStuck takes snapshots of the tree in every case. Each snapshot must be right.
func TestStuck(t *testing.T) {
	snapshots := "50"
	if !testenv.Long() {
		snapshots = "20"
	}
	atOnce := meanwhile.NewSemaphore(2)
	for _, v := range variants {
		switch v.name {
		case "plain":
		case "race": // only if the tests are built with it, which have compiled the same packages
			if !testenv.UnderRace {
				continue
			}
		default:
			if !testenv.Long() {
				continue
			}
		}
		t.Run(v.name, func(t *testing.T) {
			flags := v.flags
			if flags == nil && testenv.UnderRace {
				flags = []string{fewCases}
			}
			program := compile(t, flags)
			cases := strings.Fields(output(t, program, "-list"))
			for _, name := range casesInC {
				if !slices.Contains(cases, name) {
					t.Run(name, needCgo)
				}
			}
			for i, name := range cases {
				t.Run(name, func(t *testing.T) {
					if i%4 > 0 && !testenv.UnderRace { // CI runs all of them with the race detector
						testenv.LongTest(t)
					}
					t.Parallel()
					if err := atOnce.Acquire(t.Context(), 1); err != nil {
						t.Fatal(err)
					}
					defer atOnce.Release(1)
					if got, want := output(t, program, slices.Concat([]string{name, "-snapshots", snapshots}, v.args)...), name+" "+snapshots+"/"+snapshots+" ok\n"; got != want {
						t.Errorf("got %q, want %q", got, want)
					}
				})
			}
		})
	}
}

// needCgo skips a case that cannot be built without a C compiler. In CI, where there is one, it fails.
func needCgo(t *testing.T) {
	t.Helper()
	if err := testenv.C.Find(); err != nil {
		testenv.C.Missing(t, err)
	}
}

func compile(t *testing.T, flags []string) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "stuck.exe")
	command := exec.Command("go", slices.Concat([]string{"build", "-buildvcs=false", "-ldflags=-w", "-o", program}, flags, []string{"."})...)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", command, err, out)
	}
	return program
}

// output runs a command that has to succeed, and returns what it prints.
func output(t *testing.T, name string, arguments ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), oneCase)
	defer cancel()
	command := exec.CommandContext(ctx, name, arguments...)
	command.WaitDelay = time.Second
	command.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0") // the race detector would wait a second at exit
	var complaints strings.Builder
	command.Stderr = &complaints
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s%s", command, err, out, &complaints)
	}
	return string(out)
}

// TestMarks: each mark that a case uses is on a line, and each mark on a line is used by a case.
func TestMarks(t *testing.T) {
	used := map[string]bool{"load": true}
	for _, w := range cases {
		for _, mark := range w.also {
			used[mark] = true
		}
		for _, want := range slices.Concat(w.want, always) {
			used[want.at] = true
			for _, part := range want.has {
				if mark, ok := strings.CutPrefix(part, "@"); ok {
					used[mark] = true
				}
			}
		}
	}
	delete(used, "")
	for mark := range used {
		if marks[mark] == (sourceLine{}) {
			t.Errorf("no line has the mark %q", mark)
		}
	}
	built := build.Default // reports cgo as enabled even without a C compiler
	built.CgoEnabled = slices.ContainsFunc(cases, func(w stuckCase) bool { return w.name == casesInC[0] })
	for mark, place := range marks {
		compiled, err := built.MatchFile(".", place.file)
		if err != nil {
			t.Fatal(err)
		}
		if !used[mark] && compiled {
			t.Errorf("%v has the mark %q, which no case uses", place, mark)
		}
	}
}

func TestNamesAreUnique(t *testing.T) {
	seen := make(map[string]bool)
	for _, w := range cases {
		if seen[w.name] {
			t.Errorf("two cases have the name %q", w.name)
		}
		seen[w.name] = true
	}
}

// TestDifferences: a snapshot with one wrong field has one difference, which names that field.
func TestDifferences(t *testing.T) {
	const function = "main.semaphore.func1"
	started := time.Now()
	w := want{path: "waiter", wait: "semaphore", at: "semaphore", has: []string{"1 of 1", "@semaphore-made"}, until: time.Hour}
	right := func() inspect.Node {
		return inspect.Node{Path: "stuck/waiter", State: "running", Wait: inspect.Wait{
			For: "semaphore", On: "1 of 1 held, made at " + marks["semaphore-made"].String(),
			Func: function, File: "/somewhere/limit.go", Line: marks["semaphore"].line, Until: started.Add(time.Hour),
		}}
	}
	tests := []struct {
		differs string
		change  func(n *inspect.Node)
	}{
		{"", func(*inspect.Node) {}},
		{"State", func(n *inspect.Node) { n.State = "joining" }},
		{"Wait.For", func(n *inspect.Node) { n.Wait.For = "select" }},
		{"Wait.On", func(n *inspect.Node) { n.Wait.On = "1 of 1 held" }},
		{"Wait.On", func(n *inspect.Node) { n.Wait.On = marks["semaphore-made"].String() }},
		{"the place", func(n *inspect.Node) { n.Wait.File = "/somewhere/else.go" }},
		{"the place", func(n *inspect.Node) { n.Wait.Line++ }},
		{"Wait.Func", func(n *inspect.Node) { n.Wait.Func = "main.semaphore" }},
		{"Wait.Until", func(n *inspect.Node) { n.Wait.Until = time.Time{} }},
		{"Wait.Until", func(n *inspect.Node) { n.Wait.Until = started }},
		{"Wait.Deadlock", func(n *inspect.Node) { n.Wait.Deadlock = true }},
	}
	for _, test := range tests {
		n := right()
		test.change(&n)
		got := w.differences([]inspect.Node{n}, []string{function}, started)
		if test.differs == "" && len(got) > 0 || test.differs != "" && (len(got) != 1 || !strings.Contains(got[0], ": "+test.differs+" is ")) {
			t.Errorf("of %+v: got %q, want one about %q", n, got, test.differs)
		}
	}
	if got := w.differences(nil, []string{function}, started); len(got) != 1 {
		t.Errorf("of no task: got %q", got)
	}
	if got := w.differences([]inspect.Node{right(), right()}, []string{function}, started); len(got) != 1 {
		t.Errorf("of two tasks: got %q", got)
	}
}

func TestParseTraceback(t *testing.T) {
	const text = `goroutine 7 [chan receive (nil chan), 2 minutes, locked to thread]:
main.wait.func1({0x1, 0x2})
	/somewhere/wait.go:17 +0x25
example.org/other.Do(...)
	/somewhere/wait.go:18
main.(*caseRun).snapshot(0x0)
	/somewhere/run.go:61 +0x1
created by main.wait in goroutine 1
	/somewhere/wait.go:19 +0x1

goroutine 8 [runnable]:
main.each[...].func1-range1()
	/somewhere/each.go:3 +0x1
main.each[...].func1()
	/somewhere/each.go:3 +0x2
`
	got := parseTraceback(text)
	want := []goroutine{
		{"chan receive (nil chan)", map[sourceLine][]string{{"wait.go", 17}: {"main.wait.func1"}, {"run.go", 61}: {"main.(*caseRun).snapshot"}}},
		{"runnable", map[sourceLine][]string{{"each.go", 3}: {"main.each[...].func1-range1", "main.each[...].func1"}}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	if !got[0].idle() || got[1].idle() {
		t.Errorf("idle: got %v and %v", got[0].idle(), got[1].idle())
	}
}
