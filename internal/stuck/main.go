// Stuck gets stuck in all known ways, on purpose, and checks that the live tree says so: what each task waits for, and
// the line it waits at.
//
//	stuck CASE [-looks 200]
//	stuck -list
//
// It prints "CASE 200/200 ok" when every look was right; else the first differences, each with the whole tree, and exits
// with 1.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/meanwhile-go/meanwhile"
)

// root is the name of the scope that all tasks are below.
const root = "stuck"

func main() {
	flags := flag.NewFlagSet("stuck", flag.ExitOnError)
	looks := flags.Int("looks", 200, "look so many `times`")
	list := flags.Bool("list", false, "list the cases and exit")
	flags.BoolVar(&namesOnly, "names", false, "a task may be unknown, as in a build with the tag meanwhile_nolinkname")
	_ = flags.Parse(os.Args[1:]) // exits by itself
	if *list {
		for _, w := range ways {
			fmt.Println(w.name)
		}
		return
	}
	name := flags.Arg(0)
	if name != "" {
		_ = flags.Parse(flags.Args()[1:])
	}
	i := slices.IndexFunc(ways, func(w way) bool { return w.name == name })
	if i < 0 || flags.NArg() > 0 || *looks < 1 {
		fmt.Fprintf(os.Stderr, "usage: stuck CASE [-looks 200], or stuck -list for the cases; got %q\n", os.Args[1:])
		os.Exit(2)
	}
	examine(ways[i], *looks)
}

// examine starts a case and looks at it. It does not return: the tasks are stuck, so their scope cannot end.
func examine(w way, looks int) {
	err := meanwhile.Supervise(context.Background(), func(ctx context.Context) error {
		s := newScene(ctx, w)
		if err := w.start(ctx); err != nil {
			return fmt.Errorf("start %s: %w", w.name, err)
		}
		meanwhile.Go(ctx, load, meanwhile.Name("load"), meanwhile.InBackground())
		examine := func(context.Context) (result, error) { return s.examine(looks), nil }
		looker := meanwhile.Async(ctx, examine, meanwhile.Name("look"))
		r, err := looker.Wait(ctx) // stuck: root
		if err != nil {
			r.text = err.Error()
		}
		leave(r)
		return nil
	}, meanwhile.Name(root))
	leave(result{text: fmt.Sprint(err)})
}

// A result is what is printed at the end.
type result struct {
	text string
	ok   bool
}

func leave(r result) {
	cleanUp()
	fmt.Println(r.text)
	if !r.ok {
		os.Exit(1)
	}
	os.Exit(0)
}

// held keeps from the garbage collector what would be closed by it: the far end of a pipe, say.
var held struct {
	sync.Mutex
	things []any
}

func hold(things ...any) {
	held.Lock()
	defer held.Unlock()
	held.things = append(held.things, things...)
}

// tempDir returns a new folder, which cleanUp removes.
func tempDir() (string, error) {
	dir, err := os.MkdirTemp("", "stuck")
	if err == nil {
		tempDirs = append(tempDirs, dir)
	}
	return dir, err
}

var tempDirs []string

func cleanUp() {
	for _, dir := range tempDirs {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintf(os.Stderr, "remove %s: %v\n", dir, err)
		}
	}
}
