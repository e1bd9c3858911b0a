package inspect_test

import (
	"context"
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/testenv"

	. "github.com/meanwhile-go/meanwhile"
	. "github.com/meanwhile-go/meanwhile/inspect"
)

func TestTreeWithoutATask(t *testing.T) {
	if got := Tree(t.Context()); !reflect.DeepEqual(got, Node{}) {
		t.Errorf("got %+v, want the zero Node", got)
	}
}

// forest starts tasks, scopes and a stream of each kind below ctx and returns when all of them wait.
func forest(ctx context.Context) {
	wait := func(ctx context.Context) error { return Sleep(ctx, time.Hour) }
	Go(ctx, wait)
	Go(ctx, func(ctx context.Context) error {
		Go(ctx, wait, Name("left"))
		Go(ctx, wait, Name("right"))
		return nil
	}, Name("joining"))
	Go(ctx, func(ctx context.Context) error {
		return Shield(ctx, time.Minute, func(ctx context.Context) error {
			return Supervise(ctx, wait)
		})
	}, Name("scopes"))
	Go(ctx, func(ctx context.Context) error {
		return Each(ctx, upTo(3), func(ctx context.Context, i int) error {
			if i == 0 {
				return nil // its worker is idle afterwards, and shows no item
			}
			return wait(ctx)
		})
	}, Name("items"))
	Go(ctx, func(ctx context.Context) error {
		_ = wait(ctx)
		time.Sleep(time.Second) // it takes some time to end after its cancellation
		return nil
	}, Name("canceled")).Cancel(nil)
	Go(ctx, func(context.Context) error { return nil }, Name("ended"))
	synctest.Wait()
}

const forestDrawn = `service: running, tree_test.go (inspect.Tree)
├─ #1: sleep for another 1h0m0s, tree_test.go (meanwhile.Sleep)
├─ joining (joining): tasks
│  ├─ left: sleep for another 1h0m0s, tree_test.go (meanwhile.Sleep)
│  └─ right: sleep for another 1h0m0s, tree_test.go (meanwhile.Sleep)
├─ scopes: task service/scopes/shield, tree_test.go (meanwhile.Shield)
│  └─ shield: task service/scopes/shield/supervise, tree_test.go (meanwhile.Supervise)
│     └─ supervise: sleep for another 1h0m0s, tree_test.go (meanwhile.Sleep)
├─ items: stream service/items/each, tree_test.go (meanwhile.Each[...])
│  └─ each: tasks
│     ├─ [1]: sleep for another 1h0m0s, tree_test.go (meanwhile.Sleep)
│     └─ [2]: sleep for another 1h0m0s, tree_test.go (meanwhile.Sleep)
└─ canceled (canceled): sleep, tree_test.go
`

// withoutLines removes line numbers, which change with the file.
func withoutLines(tree string) string { return lineNumber.ReplaceAllString(tree, ".go") }

var lineNumber = regexp.MustCompile(`\.go:[1-9][0-9]*`)

func TestTree(t *testing.T) {
	testenv.NeedExact(t)
	synctest.Test(t, func(t *testing.T) {
		err := Run(t.Context(), func(ctx context.Context) error {
			forest(ctx)
			tree := Tree(ctx)
			if got := withoutLines(tree.String()); got != forestDrawn {
				t.Errorf("got\n%swant\n%s", got, forestDrawn)
			}
			var got []string
			var walk func(Node)
			walk = func(n Node) {
				got = append(got, n.Path+" "+n.Kind+" "+n.State)
				for _, below := range n.Tasks {
					walk(below)
				}
			}
			walk(tree)
			want := []string{
				"service run running",
				"service/#1 task running",
				"service/joining task joining",
				"service/joining/left task running",
				"service/joining/right task running",
				"service/scopes task running",
				"service/scopes/shield shield running",
				"service/scopes/shield/supervise supervise running",
				"service/items task running",
				"service/items/each stream running",
				"service/items/each/[1] item running",
				"service/items/each/[2] item running",
				"service/canceled task canceled",
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
			return nil
		}, Name("service"))
		if err != nil {
			t.Error(err)
		}
	})
}

// Items that have ended are not shown, although their workers wait for more items.
func TestTreeShowsNoItemThatHasEnded(t *testing.T) {
	for name, limit := range map[string]int{"one worker": 1, "as many as items": 3, "one more, which pulls": 5} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_ = Run(t.Context(), func(ctx context.Context) error {
					ch := make(chan int)
					stream := Go(ctx, func(ctx context.Context) error {
						return Each(ctx, Receive(ctx, ch), func(ctx context.Context, i int) error {
							return Sleep(ctx, time.Duration(i)*time.Second)
						}, Limit(limit))
					}, Name("a"))
					items := []string{"[0]", "[1]", "[2]"}[:min(limit, 3)]
					for n := range items {
						ch <- n + 1
					}
					synctest.Wait()
					if got := below(Tree(ctx).Tasks[0].Tasks[0]); !slices.Equal(got, items) {
						t.Errorf("got %q, want %q", got, items)
					}
					time.Sleep(time.Minute)
					if got := below(Tree(ctx).Tasks[0].Tasks[0]); len(got) > 0 {
						t.Errorf("once all items have ended, got %q", got)
					}
					stream.Cancel(nil)
					return nil
				})
			})
		})
	}
}

// The running items are shown in the order of the stream, whichever of its workers runs them.
func TestTreeShowsItemsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_ = Run(t.Context(), func(ctx context.Context) error {
			stream := Go(ctx, func(ctx context.Context) error {
				return Each(ctx, upTo(14), func(ctx context.Context, i int) error {
					if i < 11 && i != 1 {
						return Sleep(ctx, time.Second)
					}
					return Sleep(ctx, time.Hour)
				}, Limit(4))
			})
			time.Sleep(time.Minute)
			want := []string{"[1]", "[11]", "[12]", "[13]"}
			if got := below(Tree(ctx).Tasks[0].Tasks[0]); !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
			stream.Cancel(nil)
			return nil
		})
	})
}

// below returns the names of the tasks directly below n.
func below(n Node) (names []string) {
	for _, task := range n.Tasks {
		names = append(names, task.Name)
	}
	return names
}

// Tree of a task's ctx, or of one derived from it, is the tree below the task, with the task's path from the root.
func TestTreeOfATask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_ = Run(t.Context(), func(ctx context.Context) error {
			Go(ctx, func(ctx context.Context) error {
				for _, ctx := range []context.Context{ctx, context.WithValue(ctx, contextKey{}, 1)} {
					got := Tree(ctx)
					if got.Path != "run/a" || got.Name != "a" || got.Kind != "task" || got.State != "running" || got.ID == 0 || got.Tasks != nil {
						t.Errorf("got %+v", got)
					}
				}
				return nil
			}, Name("a"))
			return nil
		})
	})
}

func TestNodeAsJSON(t *testing.T) {
	testenv.NeedExact(t)
	Trees() // from now on tasks have an age
	synctest.Test(t, func(t *testing.T) {
		_ = Run(t.Context(), func(ctx context.Context) error {
			Go(ctx, func(ctx context.Context) error { return Sleep(ctx, time.Second) }, Name("a"))
			time.Sleep(100 * time.Millisecond)
			a := Tree(ctx).Tasks[0]
			a.Wait.Until = a.Wait.Until.UTC() // the test's time zone does not matter
			got, err := json.Marshal(a)
			got = regexp.MustCompile(`("id"|"line"):[1-9][0-9]*|"file":"[^"]*/tree_test.go"`).ReplaceAll(got, []byte("_"))
			want := `{_,"name":"a","path":"run/a","kind":"task","state":"running","age":100000000,` +
				`"wait":{"for":"sleep","call":"github.com/meanwhile-go/meanwhile.Sleep",` +
				`"func":"github.com/meanwhile-go/meanwhile/inspect_test.TestNodeAsJSON.func1.1.1",_,_,"until":"2000-01-01T00:00:01Z","snapshots":1}}`
			if err != nil || string(got) != want {
				t.Errorf("got %s, %v, want %s", got, err, want)
			}
			return nil
		})
	})
}

// A tree can be read while tasks start and end.
func TestTreeMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := Run(t.Context(), func(ctx context.Context) error {
			for range 4 {
				Go(ctx, func(ctx context.Context) error {
					return Each(ctx, upTo(300), func(ctx context.Context, i int) error {
						Go(ctx, func(ctx context.Context) error { return Sleep(ctx, time.Duration(i%3)) })
						return nil
					})
				})
			}
			for range 100 {
				if tree := Tree(ctx); tree.Name != "run" || len(tree.Tasks) > 4 || tree.String() == "" {
					t.Errorf("got %+v", tree)
				}
				time.Sleep(time.Nanosecond)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}
