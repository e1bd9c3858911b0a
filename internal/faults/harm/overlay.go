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

// A Change replaces one text by another in a file of a package, to build a program with a defect.
type Change struct{ Package, File, Old, New string }

// Go runs the go command, build or test -c, with changes, and such that the [Clock] of the packages of this module can jump in the built program. It
// writes the changed files to a new folder inside folder and leaves the sources as they are.
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

// An overlay lists the files that the go command reads instead of others: see go help build.
type overlay struct {
	folder  string
	Replace map[string]string
}

// asked matches the functions of package time that read the clock, and clause the package clause. asking, inserted behind that clause, imports
// package jump instead.
var (
	asked  = regexp.MustCompile(`\btime\.(Now|Since|Until)\b`)
	clause = regexp.MustCompile(`(?m)^package \w+`)
)

const asking = `; import meanwhilejump "github.com/meanwhile-go/meanwhile/internal/faults/harm/jump"`

// haveClockJump makes those packages of this module that are built read a clock that can jump. Other packages keep their clock: if package time
// itself were changed, the standard library and each module would be compiled again.
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
	for _, file := range slices.Compact(files) { // a package and its test variant list the same files
		dir, name, _ := strings.Cut(file, "\t")
		if filepath.Base(dir) == "jump" || filepath.IsAbs(name) { // the absolute path of a file that go test has generated
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
		// These lines are for a file that used package time for nothing else, or that mentions it only in a comment.
		if err := o.put(path, append(text, "\nvar _ time.Time\nvar _ = meanwhilejump.Now\n"...)); err != nil {
			return err
		}
	}
	return nil
}

// lock waits until no other process builds with the same cache, which is a folder. Two builds at once would both compile all changed packages, since
// neither finds what the other has not finished.
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

// change replaces c.Old, which must occur exactly once in the file.
func (o *overlay) change(ctx context.Context, c Change) error {
	dir, err := o.packageDir(ctx, c.Package)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, c.File)
	text, err := os.ReadFile(cmp.Or(o.Replace[path], path)) // the file may have been changed already
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
