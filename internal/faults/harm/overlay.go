//go:build unix

package harm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

// A Change is of the source of a program that is to be broken: in a file of a package, one text becomes another.
type Change struct{ Package, File, Old, New string }

// Go runs the go command, build or test -c, so that the [Clock] of what it builds of this module can jump, and with more changes. What they need is
// made of the sources that are built, in a folder, and no source is touched.
func Go(ctx context.Context, folder string, changes []Change, command []string, packages ...string) error {
	folder, err := os.MkdirTemp(folder, "overlay-*")
	if err != nil {
		return err
	}
	o := &overlay{folder: folder, Replace: map[string]string{}}
	for _, c := range changes {
		if err := o.change(ctx, c); err != nil {
			return fmt.Errorf("change %s of package %s: %w", c.File, c.Package, err)
		}
	}
	if err := o.haveClockJump(ctx, command[0], packages); err != nil {
		return fmt.Errorf("have the clock of %q jump: %w", packages, err)
	}
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	list := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(list, text, 0o600); err != nil {
		return err
	}
	cache, err := o.run(ctx, "env", "GOCACHE")
	if err != nil {
		return err
	}
	unlock, err := lock(ctx, cache)
	if err != nil {
		return err
	}
	defer unlock()
	_, err = o.run(ctx, slices.Concat(command, []string{"-buildvcs=false", "-overlay", list}, packages)...)
	return err
}

// An overlay says which files the go command reads instead of others: see go help build.
type overlay struct {
	folder  string
	Replace map[string]string
}

// asked is how a package asks for the time, and asking, behind its package clause, is what has it ask package jump.
var (
	asked  = regexp.MustCompile(`\btime\.(Now|Since|Until)\b`)
	clause = regexp.MustCompile(`(?m)^package \w+`)
)

const asking = `; import meanwhilejump "github.com/meanwhile-go/meanwhile/internal/faults/harm/jump"`

// haveClockJump has the packages of this module, among those that are built, ask for the time of a clock that can jump. The others keep theirs: for
// a clock in package time the standard library and each module would be compiled anew.
func (o *overlay) haveClockJump(ctx context.Context, command string, packages []string) error {
	list := []string{"list", "-deps", "-f", `{{if .Module}}{{if .Module.Main}}{{range .GoFiles}}{{$.Dir}}{{"\t"}}{{.}}{{"\n"}}{{end}}{{end}}{{end}}`}
	if command == "test" {
		list = append(list, "-test")
	}
	out, err := o.run(ctx, append(list, packages...)...)
	if err != nil {
		return err
	}
	files := strings.Split(out, "\n")
	slices.Sort(files)
	for _, file := range slices.Compact(files) { // a package and the one that its tests are in have the same
		dir, name, _ := strings.Cut(file, "\t")
		if filepath.Base(dir) == "jump" || filepath.IsAbs(name) { // which go test has generated
			continue
		}
		path := filepath.Join(dir, name)
		text, err := os.ReadFile(cmp.Or(o.Replace[path], path))
		if err != nil {
			return err
		}
		if !asked.Match(text) {
			continue
		}
		text = asked.ReplaceAll(text, []byte("meanwhilejump.$1"))
		if at := clause.FindIndex(text); at != nil {
			text = slices.Insert(text, at[1], []byte(asking)...)
		}
		// For a file that used package time for nothing else, or names it in a comment alone.
		if err := o.put(path, append(text, "\nvar _ time.Time\nvar _ = meanwhilejump.Now\n"...)); err != nil {
			return err
		}
	}
	return nil
}

// lock waits until nobody else builds with the same cache, a folder, in whatever process: of two that build at once each would compile all that has changed, since neither
// finds what the other has not done yet.
func lock(ctx context.Context, cache string) (unlock func(), err error) {
	file, err := os.OpenFile(filepath.Join(cache, "meanwhile-harm.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = meanwhile.Sleep(ctx, 100*time.Millisecond)
		} else if err == nil {
			return func() { file.Close() }, nil
		}
		if err != nil {
			file.Close()
			return nil, fmt.Errorf("lock %s: %w", file.Name(), err)
		}
	}
}

// run returns what the go command prints.
func (o *overlay) run(ctx context.Context, args ...string) (string, error) {
	var errs strings.Builder
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w: %s", args[0], err, strings.TrimSpace(errs.String()))
	}
	return strings.TrimSpace(string(out)), nil
}

func (o *overlay) packageDir(ctx context.Context, name string) (string, error) {
	return o.run(ctx, "list", "-f", "{{.Dir}}", name)
}

// change replaces a text, which has to be there, and once.
func (o *overlay) change(ctx context.Context, c Change) error {
	dir, err := o.packageDir(ctx, c.Package)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, c.File)
	text, err := os.ReadFile(cmp.Or(o.Replace[path], path)) // it may be changed already
	if err != nil {
		return err
	}
	if n := strings.Count(string(text), c.Old); n != 1 {
		return fmt.Errorf("%q is there %d times, want once", c.Old, n)
	}
	return o.put(path, []byte(strings.Replace(string(text), c.Old, c.New, 1)))
}

func (o *overlay) put(path string, text []byte) error {
	if o.Replace[path] == "" {
		o.Replace[path] = filepath.Join(o.folder, fmt.Sprintf("%d.go", len(o.Replace)))
	}
	return os.WriteFile(o.Replace[path], text, 0o600)
}
