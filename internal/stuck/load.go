package main

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/inspect"
)

const (
	loadAtOnce = 4                      // tasks that the load starts before it ends the previous ones
	breath     = 100 * time.Microsecond // pause in between; without it the load would use most of the time of the snapshots
)

// load keeps starting and ending tasks, so that no snapshot has the same tree as the one before it.
func load(ctx context.Context) error {
	before := make(chan struct{})
	defer func() { close(before) }()
	for {
		release := make(chan struct{})
		for range loadAtOnce {
			meanwhile.Go(ctx, func(context.Context) error {
				<-release // stuck: load
				return nil
			})
		}
		close(before)
		before = release
		if err := meanwhile.Sleep(ctx, breath); err != nil {
			return err
		}
	}
}

// brief are the waits in which a snapshot may find a task of the load. Most of them are too short to be seen twice, but a wait that never happens
// must not be reported. The mutexes are those of the tree.
var brief = []string{"start", "running", "receive", "mutex", "unknown"}

// loadDifferences returns what is wrong about the tasks of the load.
func loadDifferences(nodes map[string][]inspect.Node) []string {
	var wrong []string
	for name, found := range nodes {
		if !strings.HasPrefix(name, root+"/load/") {
			continue
		}
		for _, n := range found {
			w := n.Wait
			seen := sourceLine{path.Base(w.File), w.Line}
			if !slices.Contains(brief, w.For) || w.For == "receive" && seen != marks["load"] {
				wrong = append(wrong, fmt.Sprintf("%s: waits for %q at %v, which it never does", name, w.For, seen))
			}
		}
	}
	return wrong
}
