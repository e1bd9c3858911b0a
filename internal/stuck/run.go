package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/inspect"
)

const (
	patience  = 20 * time.Second     // time within which the tasks of a case must be stuck
	glance    = 2 * time.Millisecond // pause between two snapshots that check this
	mostShown = 3                    // snapshots whose differences are printed
)

// A caseRun is a run of a case.
type caseRun struct {
	ctx     context.Context // of the root
	stuck   stuckCase
	want    []want
	started time.Time
	funcs   map[string][]string // in which the traceback saw goroutines wait, by mark; code that was inlined has several
}

func newRun(ctx context.Context, w stuckCase) *caseRun {
	return &caseRun{
		ctx: ctx, stuck: w, want: append(w.want[:len(w.want):len(w.want)], always...),
		started: time.Now(), funcs: make(map[string][]string),
	}
}

// examine waits until the tasks are stuck, and then takes snapshots.
func (s *caseRun) examine(snapshots int) result {
	if err := s.untilStuck(); err != nil {
		return result{text: err.Error()}
	}
	var shown []string
	right := 0
	for i := range snapshots {
		tree := s.snapshot()
		if wrong := s.differences(tree); len(wrong) == 0 {
			right++
		} else if len(shown) < mostShown {
			shown = append(shown, fmt.Sprintf("snapshot %d:\n  %s\n%s", i+1, strings.Join(wrong, "\n  "), describe(tree)))
		}
		runtime.Gosched()
	}
	if right == snapshots {
		return result{text: fmt.Sprintf("%s %d/%d ok", s.stuck.name, right, snapshots), ok: true}
	}
	return result{text: fmt.Sprintf("%s %d/%d right\n%s", s.stuck.name, right, snapshots, strings.Join(shown, "\n"))}
}

func (s *caseRun) snapshot() inspect.Node {
	return inspect.Tree(s.ctx) // stuck: snapshot
}

// untilStuck returns when the tasks are stuck in two checks in a row: the traceback of the runtime has a waiting goroutine for each mark, and the
// tree reports what it should. Before a task is stuck, it may wait at the same line for something else, such as a connection that is being made or a
// process that is starting. A wrong report about a task that is stuck persists until patience is over.
func (s *caseRun) untilStuck() error {
	agreed := 0
	for {
		tree := s.snapshot()
		missing := append(s.missing(), s.differences(tree)...)
		if len(missing) == 0 {
			agreed++
		} else {
			agreed = 0
		}
		switch {
		case agreed == 2:
			return nil
		case time.Since(s.started) > patience:
			return fmt.Errorf("%s is not stuck as it should after %v:\n  %s\n%s",
				s.stuck.name, patience, strings.Join(missing, "\n  "), describe(tree))
		}
		if err := meanwhile.Sleep(s.ctx, glance); err != nil {
			return errors.New("the scope has ended: " + err.Error())
		}
	}
}

// missing returns the marks at which fewer goroutines wait than should.
func (s *caseRun) missing() []string {
	all := traceback()
	wanted := make(map[string]int)
	busy := make(map[string]bool)
	for _, w := range s.want {
		if w.at != "" {
			wanted[w.at]++
			busy[w.at] = w.wait == "running"
		}
	}
	for _, mark := range s.stuck.also {
		wanted[mark]++
	}
	wanted["snapshot"], wanted["root"] = 0, 1 // no snapshot is being taken now
	s.funcs["snapshot"] = []string{"main.(*caseRun).snapshot"}

	var missing []string
	for mark, count := range wanted {
		there := marks[mark]
		if there == (sourceLine{}) {
			missing = append(missing, fmt.Sprintf("no line of the source has the mark %q", mark))
			continue
		}
		for _, g := range all {
			functions, ok := g.funcs[there]
			if !ok || g.idle() == busy[mark] {
				continue
			}
			count--
			for _, function := range functions {
				if !slices.Contains(s.funcs[mark], function) {
					s.funcs[mark] = append(s.funcs[mark], function)
				}
			}
		}
		if count > 0 {
			missing = append(missing, fmt.Sprintf("%d goroutines more should wait at %v, mark %q", count, there, mark))
		}
	}
	return missing
}

// differences returns what is wrong about a tree.
func (s *caseRun) differences(tree inspect.Node) []string {
	nodes := byPath(tree)
	wrong := loadDifferences(nodes)
	for _, w := range s.want {
		wrong = append(wrong, w.differences(nodes[w.fullPath()], s.funcs[w.at], s.started)...)
	}
	return wrong
}
