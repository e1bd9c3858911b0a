// Stuck gets stuck in all known ways, on purpose, and checks that the live tree reports what each task waits for, and the line it waits at.
//
//	stuck CASE [-snapshots 200]
//	stuck -list
//
// It prints "CASE 200/200 ok" if every snapshot was right. Otherwise it prints the first differences, each with the whole tree, and exits with 1.
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

// root is the name of the scope above all tasks.
const root = "stuck"

func main() {
	flags := flag.NewFlagSet("stuck", flag.ExitOnError)
	times := flags.Int("snapshots", 200, "take so many snapshots, `times`")
	list := flags.Bool("list", false, "list the cases and exit")
	flags.BoolVar(&namesOnly, "names", false, "a task may be unknown, as in a build with the tag meanwhile_nolinkname")
	_ = flags.Parse(os.Args[1:]) // exits after an error
	if *list {
		for _, w := range cases {
			fmt.Println(w.name)
		}
		return
	}
	name := flags.Arg(0)
	if name != "" {
		_ = flags.Parse(flags.Args()[1:])
	}
	i := slices.IndexFunc(cases, func(w stuckCase) bool { return w.name == name })
	if i < 0 || flags.NArg() > 0 || *times < 1 {
		fmt.Fprintf(os.Stderr, "usage: stuck CASE [-snapshots 200], or stuck -list for the cases; got %q\n", os.Args[1:])
		os.Exit(2)
	}
	examine(cases[i], *times)
}

// examine starts a case and takes snapshots of it. It does not return: the tasks are stuck, so their scope cannot end.
func examine(w stuckCase, snapshots int) {
	err := meanwhile.Supervise(context.Background(), func(ctx context.Context) error {
		s := newRun(ctx, w)
		if err := w.start(ctx); err != nil {
			return fmt.Errorf("start %s: %w", w.name, err)
		}
		meanwhile.Go(ctx, load, meanwhile.Name("load"), meanwhile.InBackground())
		examine := func(context.Context) (result, error) { return s.examine(snapshots), nil }
		taker := meanwhile.Async(ctx, examine, meanwhile.Name("snapshot"))
		r, err := taker.Wait(ctx) // stuck: root
		if err != nil {
			r.text = err.Error()
		}
		leave(r)
		return nil
	}, meanwhile.Name(root))
	leave(result{text: fmt.Sprint(err)})
}

// A result is what examine prints at the end.
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

// reachable keeps things from the garbage collector, which would close them, such as the other end of a pipe.
var reachable struct {
	sync.Mutex
	things []any
}

func hold(things ...any) {
	reachable.Lock()
	defer reachable.Unlock()
	reachable.things = append(reachable.things, things...)
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
