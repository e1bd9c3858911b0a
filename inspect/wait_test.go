package inspect_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/testenv"

	. "github.com/meanwhile-go/meanwhile"
	. "github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/internal/goroutine"
	"github.com/meanwhile-go/meanwhile/internal/scope"
	"github.com/meanwhile-go/meanwhile/retry"
)

// What a task waits for, by the path below the scope. internal/stuck has the waits that need a process of their own, and checks the places as
// well.
func TestWaits(t *testing.T) {
	hour := func(ctx context.Context) error { return Sleep(ctx, time.Hour) }
	tests := map[string]struct {
		start func(ctx context.Context)
		want  map[string]string // For and On
	}{
		"a loop that takes nothing": {
			func(ctx context.Context) {
				Go(ctx, func(ctx context.Context) error {
					for range Map(ctx, upTo(100), same, Limit(2), Window(4)) {
						_ = hour(ctx)
					}
					return nil
				}, Name("loop"))
			},
			map[string]string{"loop": "sleep", "loop/stream": "full 4 results"},
		},
		"a stream at its limit": {
			func(ctx context.Context) {
				Go(ctx, func(ctx context.Context) error {
					return Each(ctx, upTo(9), func(ctx context.Context, _ int) error { return hour(ctx) }, Limit(3))
				}, Name("loop"))
				Go(ctx, func(ctx context.Context) error {
					_, err := Collect(Map(ctx, upTo(9), func(ctx context.Context, i int) (int, error) { return i, hour(ctx) }, Limit(1)))
					return err
				}, Name("ordered"))
			},
			map[string]string{
				"loop": "stream run/loop/each", "loop/each": "limit 3", "loop/each/[2]": "sleep",
				"ordered": "stream run/ordered/stream/[0]", "ordered/stream": "limit 1",
			},
		},
		"a stream at its rate": {
			func(ctx context.Context) {
				Go(ctx, func(ctx context.Context) error {
					return Each(ctx, upTo(9), func(context.Context, int) error { return nil }, Limit(1), Rate(1, time.Hour))
				}, Name("loop"))
			},
			map[string]string{"loop/each": "rate"},
		},
		"batches": {
			func(ctx context.Context) {
				Go(ctx, func(ctx context.Context) error {
					for range Batch(ctx, Receive(ctx, make(chan int)), 3, 0) {
					}
					return nil
				}, Name("empty"))
				Go(ctx, func(ctx context.Context) error {
					for range Batch(ctx, upTo(9), 3, 0) {
						_ = hour(ctx)
					}
					return nil
				}, Name("full"))
			},
			map[string]string{
				"empty": "stream run/empty/batch", "empty/batch": "source", "empty/batch/pull": "receive",
				"full": "sleep", "full/batch": "full", "full/batch/pull": "full",
			},
		},
		"a source": {
			func(ctx context.Context) {
				Go(ctx, func(ctx context.Context) error {
					return Each(ctx, Receive(ctx, make(chan int)), func(context.Context, int) error { return nil })
				}, Name("loop"))
				Go(ctx, func(ctx context.Context) error {
					slow := func(yield func(int, error) bool) { _ = Run(ctx, hour) }
					return Each(ctx, slow, func(context.Context, int) error { return nil })
				}, Name("scope"))
			},
			map[string]string{"loop/each": "source receive", "scope/each": "source task run/scope/run", "scope/run": "sleep"},
		},
		"tasks": {
			func(ctx context.Context) {
				slow := Go(ctx, hour, Name("slow"))
				Go(ctx, func(ctx context.Context) error { _, err := slow.Wait(ctx); return err }, Name("waits"))
				Go(ctx, func(ctx context.Context) error { Go(ctx, hour, Name("below")); return nil }, Name("joins"))
				Go(ctx, func(ctx context.Context) error {
					derived, cancel := context.WithCancel(ctx)
					defer cancel()
					_, err := slow.Wait(derived)
					return err
				}, Name("waits with a derived ctx"))
			},
			map[string]string{"waits": "task run/slow", "joins": "tasks", "waits with a derived ctx": "task run/slow"},
		},
		"limits": {
			func(ctx context.Context) {
				s, p := NewSemaphore(2), Rate(1, time.Hour)
				_, _ = s.Acquire(ctx, 2), p.Wait(ctx)
				Go(ctx, func(ctx context.Context) error { return s.Acquire(ctx, 1) }, Name("semaphore"))
				Go(ctx, func(ctx context.Context) error { return p.Wait(ctx) }, Name("rate"))
				Go(ctx, func(context.Context) error { return errors.New("no") }, Name("retry"), Retry(retry.Policy{Base: time.Hour, Max: time.Hour, Jitter: -1}))
			},
			map[string]string{"semaphore": "semaphore 2 of 2 held, made at wait_test.go, taken by run", "rate": "rate", "retry": "retry"},
		},
		"package sync": {
			func(ctx context.Context) {
				var rw sync.RWMutex
				var group sync.WaitGroup
				cond := sync.NewCond(new(sync.Mutex))
				go func() { // holds all of them for an hour
					rw.Lock()
					time.Sleep(time.Hour)
					rw.Unlock()
					cond.Broadcast()
					group.Done()
				}()
				group.Add(1)
				Go(ctx, func(context.Context) error { group.Wait(); return nil }, Name("waitgroup"))
				Go(ctx, func(context.Context) error { cond.L.Lock(); defer cond.L.Unlock(); cond.Wait(); return nil }, Name("cond"))
			},
			map[string]string{"waitgroup": "waitgroup", "cond": "cond"},
		},
		"pipes in memory": {
			func(ctx context.Context) {
				r, w := io.Pipe()
				Go(ctx, func(context.Context) error { _, err := io.ReadAll(r); return err }, Name("reads"))
				Go(ctx, func(ctx context.Context) error {
					for range Lines(ctx, r) {
					}
					return nil
				}, Name("lines"))
				context.AfterFunc(ctx, func() { _ = w.Close() })
				Go(ctx, func(ctx context.Context) error { return Sleep(ctx, time.Hour) }, Name("later"))
			},
			map[string]string{"reads": "select", "lines": "read", "later": "sleep"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_ = Run(t.Context(), func(ctx context.Context) error {
					test.start(ctx)
					synctest.Wait()
					waits := make(map[string]string)
					var walk func(n Node)
					walk = func(n Node) {
						waits[n.Path] = n.Wait.For
						if n.Wait.On != "" {
							waits[n.Path] += " " + withoutLines(n.Wait.On)
						}
						for _, k := range n.Tasks {
							walk(k)
						}
					}
					walk(Tree(ctx))
					for path, want := range test.want {
						got := waits["run/"+path]
						if reason, _, _ := strings.Cut(want, " "); got == reason && !goroutine.Exact {
							continue // the object of the wait is only known from the stack of the goroutine that runs the task
						}
						if got != want {
							t.Errorf("%s waits for %q, want %q", path, got, want)
						}
					}
					return errors.New("enough") // cancels the waiting tasks
				})
			})
		})
	}
}

// The calls of Blocking are shown below their tasks, also when the tasks have abandoned them.
func TestTreeShowsBlockingCalls(t *testing.T) {
	testenv.NeedExact(t)
	if before := scope.BlockingSem.Resize(2); before != mostBlocking {
		t.Errorf("the limit was %d", before)
	}
	defer scope.BlockingSem.Resize(mostBlocking)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	read := func() (int, error) { return r.Read(make([]byte, 1)) }
	err = Run(t.Context(), func(ctx context.Context) error {
		var tasks []*Task[int]
		within := map[string]string{"a": "file", "b": "mutex"} // b waits for a, which reads from the same file
		for _, name := range []string{"a", "b", "queues"} {
			tasks = append(tasks, Async(ctx, func(ctx context.Context) (int, error) { return Blocking(ctx, read) }, Name(name)))
			until(t, ctx, func(n Node) bool {
				k := n.Tasks[len(n.Tasks)-1]
				return k.Wait.For == "blocking" && (name == "queues" || len(k.Tasks) == 1 && k.Tasks[0].Wait.For == within[name])
			})
		}
		tree := Tree(ctx)
		call := tree.Tasks[0].Tasks[0]
		if call.Path != "run/a/blocking" || call.Kind != "blocking" || call.State != "running" || call.Wait.On != "read" {
			t.Errorf("got %+v", call)
		}
		if q := tree.Tasks[2]; q.Wait.On != "2 of 2 held" || len(q.Tasks) > 0 {
			t.Errorf("the third call: %+v", q)
		}
		if call.Cancel(nil) {
			t.Error("Cancel of a call of Blocking returned true")
		}
		tasks[0].Cancel(nil)
		<-tasks[0].Done()
		until(t, ctx, func(n Node) bool {
			last := n.Tasks[len(n.Tasks)-1]
			return last.Path == "run/a/blocking" && last.State == "abandoned" && last.Wait.For == "file"
		})
		_, err := w.Write([]byte("abc"))
		return err
	})
	if err != nil {
		t.Error(err)
	}
	_ = w.Close()
	// The abandoned call has also released its place: two calls that wait for each other need both places.
	meet := make(chan struct{})
	_, err = All(t.Context(),
		func(ctx context.Context) (struct{}, error) {
			return Blocking(ctx, func() (struct{}, error) { return <-meet, nil })
		},
		func(ctx context.Context) (struct{}, error) {
			return Blocking(ctx, func() (struct{}, error) { meet <- struct{}{}; return struct{}{}, nil })
		})
	if err != nil {
		t.Error(err)
	}
}

// until returns when the tree satisfies want.
func until(t *testing.T, ctx context.Context, want func(Node) bool) {
	t.Helper()
	for begun := time.Now(); !want(Tree(ctx)); {
		if time.Since(begun) > 20*time.Second {
			t.Fatalf("the tree is still\n%v", Tree(ctx))
		}
		_ = Sleep(ctx, time.Millisecond)
	}
}

// Two tasks that wait for each other by Wait are a deadlock. Two tasks that only call each other's Done on the line on which they receive are
// not: the channel may be another one, which the runtime does not report.
func TestWaitIsADeadlockAndDoneIsNot(t *testing.T) {
	release := make(chan struct{})
	second := func(_, c <-chan struct{}) <-chan struct{} { return c }
	tests := map[string]struct {
		wait     func(ctx context.Context, other *Task[struct{}]) error
		reason   string
		deadlock bool
	}{
		"Wait": {func(ctx context.Context, other *Task[struct{}]) error { _, err := other.Wait(ctx); return err }, "task", true},
		"Done": {func(_ context.Context, other *Task[struct{}]) error { <-second(other.Done(), release); return nil }, "receive", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.deadlock {
				testenv.NeedExact(t)
			}
			_ = Run(t.Context(), func(ctx context.Context) error {
				met := make(chan struct{})
				var tasks [2]*Task[struct{}]
				for i := range tasks {
					tasks[i] = Go(ctx, func(ctx context.Context) error {
						<-met
						return test.wait(ctx, tasks[1-i])
					})
				}
				close(met)
				until(t, ctx, func(n Node) bool {
					for _, k := range n.Tasks {
						if k.Wait.For != test.reason || k.Wait.Deadlock != test.deadlock {
							return false
						}
					}
					return len(n.Tasks) == 2
				})
				if name == "Done" {
					close(release)
				}
				tasks[0].Cancel(nil)
				tasks[1].Cancel(nil)
				return nil
			})
		})
	}
}

// A task whose goroutine is not found, because its stack is too deep, is not described by a task with the same name in another tree.
func TestTreesOfOneName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never := make(chan int)
		var dive func(calls int)
		dive = func(calls int) {
			if calls > 0 {
				dive(calls - 1)
			}
			<-never
		}
		begin := func(query func()) context.Context {
			begun := make(chan context.Context)
			go func() {
				_ = Run(t.Context(), func(ctx context.Context) error {
					Go(ctx, func(context.Context) error { query(); return nil }, Name("query"))
					begun <- ctx
					return nil
				}, Name("request"))
			}()
			return <-begun
		}
		deep := begin(func() { dive(2 * goroutine.MaxDepth) })
		begin(func() {
			select {
			case <-never:
			case <-t.Context().Done():
			}
		})
		synctest.Wait()
		if got := Tree(deep).Tasks[0].Wait; got.For != "unknown" || got.File != "" {
			t.Errorf("got %v, want unknown", got)
		}
		close(never)
	})
}
