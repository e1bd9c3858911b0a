package meanwhile_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const (
	modulePath = "github.com/meanwhile-go/meanwhile"
	anyModule  = "any other module"
)

// A layoutRule defines what packages may import besides the standard library and golang.org/x. Patterns are those of
// path.Match, relative to the module ("." is the root package); "x/..." is x and everything below it, "..." is everything.
type layoutRule struct {
	packages string   // the packages that it applies to; the first rule that matches counts
	ours     []string // packages of this module
	modules  []string // other modules; tests may import any
	tests    []string // packages of this module that its tests may import in addition
	helper   bool     // a test helper: may import testing, and only tests import it
}

// testOnly lists the packages that only tests and test helpers import, whatever their rule allows.
var testOnly = []string{"testing/...", "pgregory.net/rapid/...", "github.com/rogpeppe/go-internal/testscript/..."}

var layoutRules = []layoutRule{
	{packages: ".", ours: []string{"retry", "internal/scope", "internal/goroutine"}, tests: []string{"inspect", "tasklog", "internal/..."}},
	{packages: "retry", tests: []string{"."}},
	{packages: "measure", ours: []string{"."}},
	{packages: "internal/scope", ours: []string{"internal/goroutine"}, tests: []string{".", "retry"}},
	{packages: "inspect", ours: []string{".", "internal/scope", "internal/goroutine"}, tests: []string{"retry", "internal/..."}},
	{packages: "process", ours: []string{".", "inspect", "internal/scope"}, tests: []string{"retry", "internal/..."}},
	{packages: "tasklog", ours: []string{"internal/scope"}, tests: []string{".", "inspect"}},
	{packages: "internal/stuck", ours: []string{".", "retry", "inspect", "process"}, modules: []string{"github.com/jackc/pgx/v5"}, tests: []string{".", "internal/testenv"}}, // a program, run by its tests
	{packages: "internal/faults/...", ours: []string{"..."}, modules: []string{anyModule}, tests: []string{"..."}},                                                           // another one
	{packages: "internal/logfaults", ours: []string{"..."}, modules: []string{anyModule}, tests: []string{"..."}},
	{packages: "internal/trees", ours: []string{"inspect"}},
	{packages: "internal/access", ours: []string{"internal/..."}},
	{packages: "internal/testenv", ours: []string{"internal/goroutine"}, helper: true},
	{packages: "internal/push", ours: []string{"internal/retryafter"}, tests: []string{"internal/..."}},
	{packages: "internal/journal", ours: []string{"internal/datafolder"}, tests: []string{"internal/testenv"}},
	{packages: "internal/lanes", ours: []string{"job"}, tests: []string{"internal/..."}},
	{packages: "internal/migrate", ours: []string{"job"}, tests: []string{"internal/..."}},
	{packages: "internal/lanes/lanelaw", ours: []string{"job"}, modules: []string{"pgregory.net/rapid"}, helper: true},
	{packages: "internal/logwire", modules: []string{"github.com/klauspost/compress"}},
	{packages: "internal/...", tests: []string{"internal/..."}},

	{packages: "live", ours: []string{".", "inspect", "internal/..."}},

	{packages: "job", ours: []string{".", "retry", "inspect", "internal/..."}, tests: []string{"tasklog", "job/..."}},
	{packages: "job/jobtest", ours: []string{".", "job"}, tests: []string{"retry", "job/..."}, helper: true},
	{packages: "job/sqlite", ours: adapterImports("job"), tests: []string{"job/..."}, modules: []string{"modernc.org/sqlite"}},
	{packages: "job/postgres", ours: adapterImports("job"), tests: []string{"job/..."}, modules: []string{"github.com/jackc/pgx/v5"}},
	{packages: "job/redis", ours: adapterImports("job"), tests: []string{"job/..."}, modules: []string{"github.com/redis/rueidis"}},
	{packages: "job/*", ours: adapterImports("job"), tests: []string{"job/..."}},

	{packages: "logs", ours: []string{".", "process", "tasklog", "internal/..."}, tests: []string{"retry", "logs/..."}, modules: []string{"github.com/klauspost/compress"}},
	{packages: "logs/filter", ours: []string{"logs", "internal/..."}},
	{packages: "logs/storage", ours: []string{".", "logs", "logs/filter", "internal/..."}, tests: []string{"logs/..."}},
	{packages: "logs/input", ours: []string{"logs"}},
	{packages: "logs/forward", ours: []string{".", "logs", "logs/filter", "logs/storage", "internal/..."}, tests: []string{"retry", "logs/..."}},
	{packages: "logs/linefile", ours: []string{".", "logs", "internal/..."}, modules: []string{"github.com/klauspost/compress"}},
	{packages: "logs/server", ours: []string{".", "logs", "logs/filter", "logs/storage", "logs/input", "logs/linefile", "internal/..."}, tests: []string{"process", "retry", "logs/..."}, modules: []string{"github.com/klauspost/compress"}},
	{packages: "logs/logtest", ours: []string{".", "logs", "logs/filter", "logs/storage", "logs/input", "logs/forward", "internal/..."}, tests: []string{"logs/..."}, helper: true},
	{packages: "logs/segment", ours: storeImports, tests: []string{"logs/..."}, modules: []string{"github.com/klauspost/compress"}},
	{packages: "logs/remote", ours: storeImports, tests: []string{"logs/..."}},
	{packages: "logs/otlp", ours: protocolImports, tests: []string{"logs/..."}, modules: []string{"google.golang.org/protobuf"}},
	{packages: "logs/loki", ours: protocolImports, tests: []string{"logs/..."}, modules: []string{"google.golang.org/protobuf", "github.com/klauspost/compress"}},
	{packages: "logs/jsonlines", ours: protocolImports, tests: []string{"logs/..."}, modules: []string{"github.com/klauspost/compress"}},
	{packages: "logs/analogger", ours: protocolImports, tests: []string{"logs/..."}, modules: []string{"go.yaml.in/yaml/v3"}},
	{packages: "logs/nats", ours: protocolImports, tests: []string{"logs/..."}, modules: []string{"github.com/nats-io/nats.go"}},
	{packages: "logs/*", ours: protocolImports, tests: []string{"logs/..."}},

	{packages: "api", ours: []string{".", "job", "retry", "internal/..."}, tests: []string{"job/..."}},
	{packages: "dash", ours: []string{".", "inspect", "job", "logs", "logs/filter", "logs/storage", "internal/..."}, tests: []string{"job/...", "logs/..."}},
	{packages: "metrics", ours: []string{".", "inspect", "job", "logs/server", "internal/..."}, tests: []string{"retry", "job/..."}, modules: []string{"github.com/prometheus/client_golang"}},
	{packages: "cmd/meanwhile/internal/demo/engine", ours: []string{".", "internal/..."}, modules: []string{"modernc.org/sqlite"}},
	{packages: "cmd/meanwhile/...", ours: []string{"..."}, modules: []string{anyModule}, tests: []string{"..."}},
	{packages: "clients/ruby", tests: []string{"internal/testenv"}}, // the tests of the gem
	{packages: "docs", tests: []string{"..."}},
	{packages: "examples/...", ours: []string{".", "retry", "measure", "inspect", "process", "tasklog", "live", "job/...", "logs/...", "api", "dash"}, modules: []string{"modernc.org/sqlite"}, tests: []string{"..."}},
}

// adapterImports returns what a store may import: its parent, never a sibling.
func adapterImports(parent string) []string { return []string{".", "retry", parent, "internal/..."} }

// What packages of logs may import: those that store or search records, and those that implement a protocol, as an input, an
// output or both. The server does not import any of them.
var (
	storeImports    = []string{".", "logs", "logs/filter", "logs/storage", "internal/..."}
	protocolImports = []string{".", "logs", "logs/input", "logs/forward", "internal/..."}
)

// A listedPackage is the description of a package by go list -json.
type listedPackage struct {
	Dir, ImportPath, Name, Doc                  string
	GoFiles, Imports, TestImports, XTestImports []string
}

func TestLayout(t *testing.T) {
	for _, p := range listPackages(t) {
		for _, violation := range checkLayout(p) {
			t.Error(violation)
		}
	}
}

func TestLayoutViolations(t *testing.T) {
	tests := []struct {
		name, path                    string
		imports, tests, outside, want []string // outside: the tests in package x_test
	}{
		{name: "root", path: ".", imports: []string{"context", "golang.org/x/sync/errgroup"}, outside: []string{modulePath, "testing", "pgregory.net/rapid"}},
		{name: "root imports a domain", path: ".", imports: []string{modulePath + "/job"}, want: []string{
			`. imports job; rule "." allows std, golang.org/x, retry, internal/scope, internal/goroutine`,
		}},
		{name: "root imports a module", path: ".", imports: []string{"github.com/alecthomas/kong"}, want: []string{
			`. imports github.com/alecthomas/kong; rule "." allows std, golang.org/x, retry, internal/scope, internal/goroutine`,
		}},
		{name: "tests of the root import a domain", path: ".", tests: []string{modulePath + "/job"}, want: []string{
			`tests of . import job; rule "." allows std, golang.org/x, retry, internal/scope, internal/goroutine, inspect, tasklog, internal/..., any other module`,
		}},
		{name: "internal imports the root", path: "internal/ring", imports: []string{modulePath}, want: []string{
			`internal/ring imports .; rule "internal/..." allows std, golang.org/x`,
		}},
		{name: "domain", path: "job", imports: []string{modulePath, modulePath + "/internal/ring"}, outside: []string{modulePath + "/job/jobtest", modulePath + "/job/memory"}},
		{name: "domain imports the other", path: "logs", imports: []string{modulePath + "/job"}, outside: []string{modulePath + "/job"}, want: []string{
			`logs imports job; rule "logs" allows std, golang.org/x, ., process, tasklog, internal/..., github.com/klauspost/compress`,
			`tests of logs import job; rule "logs" allows std, golang.org/x, ., process, tasklog, internal/..., retry, logs/..., any other module`,
		}},
		{name: "domain imports its store", path: "job", imports: []string{modulePath + "/job/memory"}, want: []string{
			`job imports job/memory; rule "job" allows std, golang.org/x, ., retry, inspect, internal/...`,
		}},
		{name: "store", path: "job/sqlite", imports: []string{"database/sql", "modernc.org/sqlite", modulePath, modulePath + "/job"}},
		{name: "store imports another", path: "job/redis", imports: []string{modulePath + "/job/memory"}, want: []string{
			`job/redis imports job/memory; rule "job/redis" allows std, golang.org/x, ., retry, job, internal/..., github.com/redis/rueidis`,
		}},
		{name: "store imports another driver", path: "job/sqlite", imports: []string{"modernc.org/sqlite2"}, want: []string{
			`job/sqlite imports modernc.org/sqlite2; rule "job/sqlite" allows std, golang.org/x, ., retry, job, internal/..., modernc.org/sqlite`,
		}},
		{name: "input imports the server", path: "logs/syslog", imports: []string{modulePath + "/logs/input", modulePath + "/logs/server"}, outside: []string{modulePath + "/logs/server"}, want: []string{
			`logs/syslog imports logs/server; rule "logs/*" allows std, golang.org/x, ., logs, logs/input, logs/forward, internal/...`,
		}},
		{name: "client imports the server", path: "logs", imports: []string{modulePath + "/internal/logwire", modulePath + "/logs/server"}, want: []string{
			`logs imports logs/server; rule "logs" allows std, golang.org/x, ., process, tasklog, internal/..., github.com/klauspost/compress`,
		}},
		{name: "helper of tests", path: "job/jobtest", imports: []string{"testing", "testing/synctest", modulePath + "/job"}},
		{name: "code imports helpers of tests", path: "cmd/meanwhile", imports: []string{"testing", "pgregory.net/rapid", modulePath + "/logs/logtest"}, want: []string{
			`cmd/meanwhile imports testing, which only tests may`,
			`cmd/meanwhile imports pgregory.net/rapid, which only tests may`,
			`cmd/meanwhile imports logs/logtest, which only tests may`,
		}},
		{name: "dashboard imports a store", path: "dash", imports: []string{modulePath + "/job", modulePath + "/job/postgres"}, outside: []string{modulePath + "/job/memory"}, want: []string{
			`dash imports job/postgres; rule "dash" allows std, golang.org/x, ., inspect, job, logs, logs/filter, logs/storage, internal/...`,
		}},
		{name: "command", path: "cmd/meanwhile", imports: []string{modulePath + "/dash", modulePath + "/job/postgres", "github.com/alecthomas/kong"}},
		{name: "example imports internals", path: "examples/crawl", imports: []string{modulePath + "/job/sqlite", modulePath + "/internal/ring"}, want: []string{
			`examples/crawl imports internal/ring; rule "examples/..." allows std, golang.org/x, ., retry, measure, inspect, process, tasklog, live, job/..., logs/..., api, dash, modernc.org/sqlite`,
		}},
		{name: "no rule", path: "utils", imports: []string{"strings"}, want: []string{
			`utils: no rule in layout_test.go says what it may import`,
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := listedPackage{ImportPath: path.Join(modulePath, test.path), Imports: test.imports, TestImports: test.tests, XTestImports: test.outside}
			if got := checkLayout(p); !slices.Equal(got, test.want) {
				t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

// maxNames is the maximum number of top-level names that the root package may export, with all its constants counted as one.
// It may shrink, not grow.
const maxNames = 50

func TestRootIsSmall(t *testing.T) {
	out, err := exec.Command("go", "doc", "-short", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	names := 0
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "const") || !strings.HasSuffix(line, "...") {
			names++
		}
	}
	if names == 0 || names > maxNames {
		t.Errorf("the root package exports %d names, at most %d wanted:\n%s", names, maxNames, out)
	}
}

// TestPackagesSayWhatTheyHold requires a doc comment for each package that programs or packages of this module import.
func TestPackagesSayWhatTheyHold(t *testing.T) {
	for _, p := range listPackages(t) {
		if p.Name != "main" && p.Doc == "" && len(p.GoFiles) > 0 {
			t.Errorf("package %s has no doc comment", shortPath(p.ImportPath))
		}
	}
}

// TestExamplesAreInThisModule checks that "go run ./examples/NAME" works from the root for each example.
func TestExamplesAreInThisModule(t *testing.T) {
	mains, err := filepath.Glob("examples/*/main.go")
	if err != nil || len(mains) == 0 {
		t.Fatalf("got %d examples, %v", len(mains), err)
	}
	packages := listPackages(t)
	for _, main := range mains {
		want := path.Join(modulePath, filepath.ToSlash(filepath.Dir(main)))
		if !slices.ContainsFunc(packages, func(p listedPackage) bool { return p.ImportPath == want }) {
			t.Errorf("%s is not a package of this module: remove its go.mod", filepath.Dir(main))
		}
	}
}

// goList runs go list for the packages of this module, once for all tests.
var goList = sync.OnceValues(func() ([]byte, error) {
	return exec.Command("go", "list", "-json=Dir,ImportPath,Name,Doc,GoFiles,Imports,TestImports,XTestImports", "./...").Output()
})

// listPackages returns the packages of this module.
func listPackages(t *testing.T) []listedPackage {
	t.Helper()
	out, err := goList()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Fatalf("go list: %v\n%s", err, exit.Stderr)
	} else if err != nil {
		t.Fatal(err)
	}
	var packages []listedPackage
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listedPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("read go list: %v", err)
		}
		packages = append(packages, p)
		// Open each directory: go test caches a result until a file that the test itself opened changes.
		if dir, err := os.Open(p.Dir); err != nil {
			t.Fatal(err)
		} else if err := dir.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(packages) == 0 || packages[0].ImportPath != modulePath {
		t.Fatalf("go list names no package %s: %+v", modulePath, packages)
	}
	return packages
}

// checkLayout returns one line for each import of p that the rules forbid.
func checkLayout(p listedPackage) []string {
	name := shortPath(p.ImportPath)
	rule, ok := ruleFor(name)
	if !ok {
		return []string{name + ": no rule in layout_test.go says what it may import"}
	}
	var violations []string
	for _, imported := range p.Imports {
		target := shortPath(imported)
		switch {
		case !rule.helper && forTests(imported):
			violations = append(violations, fmt.Sprintf("%s imports %s, which only tests may", name, target))
		case !rule.allows(imported):
			violations = append(violations, fmt.Sprintf("%s imports %s; rule %q allows %s", name, target, rule.packages, rule))
		}
	}
	inTests := layoutRule{ours: slices.Concat(rule.ours, rule.tests), modules: []string{anyModule}}
	for _, imported := range slices.Concat(p.TestImports, p.XTestImports) {
		if imported != p.ImportPath && !inTests.allows(imported) {
			violations = append(violations, fmt.Sprintf("tests of %s import %s; rule %q allows %s", name, shortPath(imported), rule.packages, inTests))
		}
	}
	return violations
}

func ruleFor(name string) (layoutRule, bool) {
	i := slices.IndexFunc(layoutRules, func(r layoutRule) bool { return matchesPath(r.packages, name) })
	if i < 0 {
		return layoutRule{}, false
	}
	return layoutRules[i], true
}

// forTests reports whether only tests may import a package.
func forTests(importPath string) bool {
	if isOurs(importPath) {
		rule, _ := ruleFor(shortPath(importPath))
		return rule.helper
	}
	return slices.ContainsFunc(testOnly, func(pattern string) bool { return matchesPath(pattern, importPath) })
}

func (r layoutRule) allows(importPath string) bool {
	if isOurs(importPath) {
		return slices.ContainsFunc(r.ours, func(pattern string) bool { return matchesPath(pattern, shortPath(importPath)) })
	}
	first, _, _ := strings.Cut(importPath, "/")
	if !strings.Contains(first, ".") || matchesPath("golang.org/x/...", importPath) {
		return true
	}
	return slices.ContainsFunc(r.modules, func(m string) bool { return m == anyModule || matchesPath(m+"/...", importPath) })
}

func (r layoutRule) String() string {
	return strings.Join(slices.Concat([]string{"std", "golang.org/x"}, r.ours, r.modules), ", ")
}

func isOurs(importPath string) bool { return matchesPath(modulePath+"/...", importPath) }

// shortPath returns the path of a package of this module relative to the module, and other paths unchanged.
func shortPath(importPath string) string {
	switch {
	case importPath == modulePath:
		return "."
	case isOurs(importPath):
		return strings.TrimPrefix(importPath, modulePath+"/")
	}
	return importPath
}

func matchesPath(pattern, name string) bool {
	if pattern == "..." {
		return true
	}
	if below, ok := strings.CutSuffix(pattern, "/..."); ok {
		return name == below || strings.HasPrefix(name, below+"/")
	}
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}
