//go:build unix

package harm

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

// A Change is of the source of a program that is to be broken: in a file of a package, one text becomes another.
type Change struct{ Package, File, Old, New string }

// clockJumps has [time.Now] ask the file of _time.
var clockJumps = Change{"time", "time.go", "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n", "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n\tsec = jumped.wall(sec, nsec)\n"}

//go:embed _time/clock.go
var clockSource []byte

// Go runs the go command, build or test -c, so that the [Clock] of what it builds can jump, and with more changes. What they need is
// made of the sources that are built, in a folder, and no source is touched.
func Go(ctx context.Context, folder string, changes []Change, command string, args ...string) error {
	folder, err := os.MkdirTemp(folder, "overlay-*")
	if err != nil {
		return err
	}
	o := &overlay{folder: folder, Replace: map[string]string{}}
	if err := o.findGo(ctx); err != nil {
		return err
	}
	for _, c := range append(changes, clockJumps) {
		if err := o.change(ctx, c); err != nil {
			return fmt.Errorf("change %s of package %s: %w", c.File, c.Package, err)
		}
	}
	dir, err := o.packageDir(ctx, clockJumps.Package)
	if err != nil {
		return err
	}
	if err := o.put(filepath.Join(dir, "meanwhile_clock.go"), clockSource); err != nil {
		return err
	}
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	list := filepath.Join(folder, "overlay.json")
	if err := os.WriteFile(list, text, 0o600); err != nil {
		return err
	}
	unlock, err := o.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	_, err = o.run(ctx, command, append([]string{"-buildvcs=false", "-overlay", list}, args...)...)
	return err
}

// An overlay says which files the go command reads instead of others: see go help build.
type overlay struct {
	folder  string
	env     []string // of the go command
	program string   // it
	cache   string   // the folder of what it has compiled
	Replace map[string]string
}

// findGo finds the go command. One that was downloaded as a module, whose files must not be replaced, is given another path.
func (o *overlay) findGo(ctx context.Context) error {
	o.program = "go"
	out, err := o.run(ctx, "env", "GOROOT", "GOMODCACHE", "GOCACHE")
	if err != nil {
		return err
	}
	root, modules, _ := strings.Cut(out, "\n")
	modules, o.cache, _ = strings.Cut(modules, "\n")
	if !strings.HasPrefix(root, modules+string(filepath.Separator)) {
		return nil
	}
	link := filepath.Join(o.folder, "goroot")
	o.program, o.env = filepath.Join(link, "bin", "go"), []string{"GOROOT=" + link, "GOTOOLCHAIN=local"}
	return os.Symlink(root, link)
}

// lock waits until nobody else builds with the same cache, in whatever process. A clock that jumps has even the standard library
// compiled anew, and of two that build at once each would compile all of it: neither finds what the other has not done yet.
func (o *overlay) lock(ctx context.Context) (unlock func(), err error) {
	file, err := os.OpenFile(filepath.Join(o.cache, "meanwhile-harm.lock"), os.O_CREATE|os.O_RDWR, 0o600)
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
func (o *overlay) run(ctx context.Context, command string, args ...string) (string, error) {
	var errs strings.Builder
	cmd := exec.CommandContext(ctx, o.program, append([]string{command}, args...)...)
	cmd.Env = append(os.Environ(), o.env...)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w: %s", command, err, strings.TrimSpace(errs.String()))
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
