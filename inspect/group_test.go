package inspect_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/testenv"

	. "github.com/meanwhile-go/meanwhile"
	. "github.com/meanwhile-go/meanwhile/inspect"
	"pgregory.net/rapid"
)

// A hundred items with the same wait share a line; items that differ have their own.
func TestStringGroupsSiblings(t *testing.T) {
	testenv.NeedExact(t)
	Trees() // from here on, the ages of tasks are known
	synctest.Test(t, func(t *testing.T) {
		_ = Run(t.Context(), func(ctx context.Context) error {
			never := make(chan int)
			receive := func(context.Context) error {
				<-never
				return nil
			}
			defer close(never)
			Go(ctx, func(ctx context.Context) error {
				return Each(ctx, upTo(100), func(ctx context.Context, i int) error {
					if i == 17 {
						return Sleep(ctx, time.Hour)
					}
					return Run(ctx, receive)
				}, Limit(100))
			}, Name("fetch"))
			for _, name := range []string{"orders", "mail", "invoices"} {
				Go(ctx, receive, Name(name))
			}
			time.Sleep(5 * time.Second)
			synctest.Wait()
			Tree(ctx)
			time.Sleep(12 * time.Second)
			got := withoutLines(Tree(ctx).String())
			want := `run, 17s: running, group_test.go (inspect.Tree)
├─ fetch, 17s: stream run/fetch/each, group_test.go (meanwhile.Each[...]), here in 2 snapshots
│  └─ each, 17s: limit 100, here in 2 snapshots
│     ├─ [0] … [99], 99 items, oldest 17s: task …/run, group_test.go (meanwhile.Run), here for up to 12s
│     │  └─ run, 99 tasks, oldest 17s: receive, group_test.go, here in up to 2 snapshots
│     └─ [17], 17s: sleep for another 59m43s, group_test.go (meanwhile.Sleep), here for 12s
├─ orders, 17s: receive, group_test.go, here in 2 snapshots
├─ mail, 17s: receive, group_test.go, here in 2 snapshots
└─ invoices, 17s: receive, group_test.go, here in 2 snapshots
`
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			return errors.New("enough")
		})
	})
}

// drawForest draws trees with few different waits and names.
func drawForest(t *rapid.T, depth int) []Node {
	var list []Node
	for i := range rapid.IntRange(0, 5-depth).Draw(t, "tasks") {
		list = append(list, Node{
			ID: uint32(i + 1), Name: rapid.SampledFrom([]string{"a", "[%d]", "job %d x"}).Draw(t, "name"), Kind: "task", State: "running",
			Wait:  Wait{For: rapid.SampledFrom([]string{"receive", "send"}).Draw(t, "wait")},
			Age:   time.Duration(rapid.IntRange(0, 9).Draw(t, "age")) * time.Second,
			More:  rapid.IntRange(0, 1).Draw(t, "more"),
			Tasks: drawForest(t, depth+1),
		})
		if n := &list[i]; strings.Contains(n.Name, "%d") {
			n.Name = fmt.Sprintf(n.Name, i)
		}
	}
	return list
}

// Grouping keeps every task, never produces more lines, changes nothing when it is repeated, and leaves the original tree unchanged.
func TestGroupedLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := Node{Name: "root", Tasks: drawForest(t, 0)}
		before := fmt.Sprintf("%+v", tree)
		grouped := tree.Grouped()
		if after := fmt.Sprintf("%+v", tree); after != before {
			t.Fatalf("the tree is %s, was %s", after, before)
		}
		tasks, lines := countTasks(tree.Tasks)
		groupedTasks, groupedLines := countTasks(grouped.Tasks)
		if groupedTasks != tasks || groupedLines > lines {
			t.Errorf("%d tasks in %d lines, want %d in at most %d", groupedTasks, groupedLines, tasks, lines)
		}
		if once, twice := fmt.Sprintf("%+v", grouped), fmt.Sprintf("%+v", grouped.Grouped()); twice != once {
			t.Errorf("grouped again\n%s\nwas\n%s", twice, once)
		}
		if got := strings.Count(tree.String(), "\n") - strings.Count(tree.String(), "… and "); got != groupedLines+1 {
			t.Errorf("%d lines are drawn, want %d", got, groupedLines+1)
		}
	})
}

// countTasks counts the tasks, including those that were left out, and the lines that they occupy.
func countTasks(nodes []Node) (tasks, lines int) {
	for _, n := range nodes {
		tasks += max(1, len(n.Group)) + n.More
		belowTasks, belowLines := countTasks(n.Tasks)
		tasks += belowTasks
		lines += 1 + belowLines
	}
	return tasks, lines
}
