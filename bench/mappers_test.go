package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alitto/pond/v2"
	"github.com/destel/rill"
	"github.com/gammazero/workerpool"
	"github.com/meanwhile-go/meanwhile"
	"github.com/panjf2000/ants/v2"
	lop "github.com/samber/lo/parallel"
	"github.com/sourcegraph/conc/iter"
	"github.com/sourcegraph/conc/pool"
	"github.com/sourcegraph/conc/stream"
	"golang.org/x/sync/errgroup"
)

// A mapper is one library's way to call a function for each of many items, up to limit at once, and to get the results in the
// order of the items, or the first failure.
type mapper struct {
	lib string
	// open returns the function that maps, and one that releases resources. If a library has pools that are meant to be reused,
	// open creates the pool, so that creating it is not measured.
	open  func(limit int) (m mapFunc, done func())
	sleep func(ctx context.Context, d time.Duration) error
	// unbounded means that the library has no limit, so it starts all items at once.
	unbounded bool
}

type (
	itemFunc func(ctx context.Context, item int) (int, error)
	mapFunc  func(ctx context.Context, items []int, fn itemFunc) ([]int, error)
)

var mappers = []mapper{
	{"workers", openWorkers, sleep, false},
	{"errgroup", openErrgroup, sleep, false},
	{"conc-stream", openConcStream, sleep, false},
	{"conc-pool", openConcPool, sleep, false},
	{"conc-iter", openConcIter, sleep, false},
	{"rill", openRill, sleep, false},
	{"pond", openPondResults, sleep, false},
	{"ants", openAntsFunc, sleep, false},
	{"workerpool", openWorkerpoolMap, sleep, false},
	{"lo", openLo, sleep, true},
	{"meanwhile", openMap, meanwhile.Sleep, false},
}

func nothingOpen() {}

// openWorkers is the minimal solution: goroutines that take the next index of a slice. It is not a stream: all items must exist
// before it starts, and all results are available when it ends.
func openWorkers(limit int) (mapFunc, func()) {
	return func(ctx context.Context, items []int, fn itemFunc) ([]int, error) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		out := make([]int, len(items))
		var next atomic.Int64
		var wg sync.WaitGroup
		for range min(limit, len(items)) {
			wg.Go(func() {
				for ctx.Err() == nil {
					i := int(next.Add(1)) - 1
					if i >= len(items) {
						return
					}
					var err error
					if out[i], err = fn(ctx, items[i]); err != nil {
						cancel(err)
					}
				}
			})
		}
		wg.Wait()
		return out, context.Cause(ctx)
	}, nothingOpen
}

func openErrgroup(limit int) (mapFunc, func()) {
	return func(ctx context.Context, items []int, fn itemFunc) ([]int, error) {
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(limit)
		out := make([]int, len(items))
		for i, item := range items {
			g.Go(func() (err error) {
				out[i], err = fn(ctx, item)
				return err
			})
		}
		return out, g.Wait()
	}, nothingOpen
}

func openConcStream(limit int) (mapFunc, func()) {
	return func(ctx context.Context, items []int, fn itemFunc) ([]int, error) {
		s := stream.New().WithMaxGoroutines(limit)
		out := make([]int, 0, len(items))
		var first error
		for _, item := range items {
			s.Go(func() stream.Callback {
				result, err := fn(ctx, item)
				return func() {
					if err != nil && first == nil {
						first = err
					}
					out = append(out, result)
				}
			})
		}
		s.Wait()
		return out, first
	}, nothingOpen
}

// openConcPool writes to a slice, because a ResultPool does not preserve the order.
func openConcPool(limit int) (mapFunc, func()) {
	return func(ctx context.Context, items []int, fn itemFunc) ([]int, error) {
		p := pool.New().WithMaxGoroutines(limit).WithContext(ctx).WithCancelOnError().WithFirstError()
		out := make([]int, len(items))
		for i, item := range items {
			p.Go(func(ctx context.Context) (err error) {
				out[i], err = fn(ctx, item)
				return err
			})
		}
		return out, p.Wait()
	}, nothingOpen
}

func openConcIter(limit int) (mapFunc, func()) {
	m := iter.Mapper[int, int]{MaxGoroutines: limit}
	return func(ctx context.Context, items []int, fn itemFunc) ([]int, error) {
		return m.MapErr(items, func(item *int) (int, error) { return fn(ctx, *item) })
	}, nothingOpen
}

func openRill(limit int) (mapFunc, func()) {
	return func(ctx context.Context, items []int, fn itemFunc) ([]int, error) {
		results := rill.OrderedMap(rill.FromSlice(items, nil), limit, func(item int) (int, error) { return fn(ctx, item) })
		out := make([]int, 0, len(items))
		for result, err := range rill.ToSeq2(results) {
			if err != nil {
				return nil, err
			}
			out = append(out, result)
		}
		return out, nil
	}, nothingOpen
}

func openPondResults(limit int) (mapFunc, func()) {
	p := pond.NewPool(limit)
	return func(ctx context.Context, items []int, fn itemFunc) ([]int, error) {
		g := p.NewGroupContext(ctx)
		ctx = g.Context()
		out := make([]int, len(items))
		for i, item := range items {
			g.SubmitErr(func() (err error) {
				out[i], err = fn(ctx, item)
				return err
			})
		}
		return out, g.Wait()
	}, p.StopAndWait
}

// An antsCall is one use of the pool; an ants pool has one function for all of its calls.
type antsCall struct {
	ctx   context.Context
	items []int
	out   []int
	fn    itemFunc
	wg    sync.WaitGroup
	first failure
}

type antsItem struct {
	call *antsCall
	i    int
}

func openAntsFunc(limit int) (mapFunc, func()) {
	p, err := ants.NewPoolWithFuncGeneric(limit, func(item antsItem) {
		c := item.call
		defer c.wg.Done()
		var err error
		c.out[item.i], err = c.fn(c.ctx, c.items[item.i])
		c.first.note(err)
	}, ants.WithDisablePurge(true))
	if err != nil {
		panic(err)
	}
	return func(ctx context.Context, items []int, fn itemFunc) ([]int, error) {
		c := &antsCall{ctx: ctx, items: items, out: make([]int, len(items)), fn: fn}
		c.wg.Add(len(items))
		for i := range items {
			if err := p.Invoke(antsItem{c, i}); err != nil {
				return nil, err
			}
		}
		c.wg.Wait()
		return c.out, c.first.err
	}, p.Release
}

func openWorkerpoolMap(limit int) (mapFunc, func()) {
	p := workerpool.New(limit)
	return func(ctx context.Context, items []int, fn itemFunc) ([]int, error) {
		out := make([]int, len(items))
		var wg sync.WaitGroup
		var first failure
		wg.Add(len(items))
		for i, item := range items {
			p.Submit(func() {
				defer wg.Done()
				var err error
				out[i], err = fn(ctx, item)
				first.note(err)
			})
		}
		wg.Wait()
		return out, first.err
	}, p.StopWait
}

func openLo(int) (mapFunc, func()) {
	return func(ctx context.Context, items []int, fn itemFunc) ([]int, error) {
		var first failure
		out := lop.Map(items, func(item, _ int) int {
			result, err := fn(ctx, item)
			first.note(err)
			return result
		})
		return out, first.err
	}, nothingOpen
}

func openMap(limit int) (mapFunc, func()) { return openMapWith(meanwhile.Limit(limit)) }

// openMapWith is meanwhile's Map with the given options.
func openMapWith(opts ...meanwhile.StreamOption) (mapFunc, func()) {
	return func(ctx context.Context, items []int, fn itemFunc) ([]int, error) {
		out := make([]int, 0, len(items))
		for result, err := range meanwhile.Map(ctx, meanwhile.From(slices.Values(items)), fn, opts...) {
			if err != nil {
				return nil, err
			}
			out = append(out, result)
		}
		return out, nil
	}, nothingOpen
}

// numbers returns the items from 0 to n-1.
func numbers(n int) []int {
	items := make([]int, n)
	for i := range items {
		items[i] = i
	}
	return items
}

// inOrder checks the results of a mapper that doubles its items.
func inOrder(results []int, n int) error {
	if len(results) != n {
		return fmt.Errorf("%d results of %d", len(results), n)
	}
	for i, result := range results {
		if result != 2*i {
			return fmt.Errorf("result %d is %d", i, result)
		}
	}
	return nil
}

// TestMappers tests that each library does the work that is measured: as many items at once as the limit allows and no more,
// results in order, and the failure of an item returned.
func TestMappers(t *testing.T) {
	for _, m := range mappers {
		t.Run(m.lib, func(t *testing.T) {
			const n, limit = 1000, 8
			run, done := m.open(limit)
			defer done()

			var running, most atomic.Int64
			results, err := run(t.Context(), numbers(n), func(ctx context.Context, item int) (int, error) {
				now := running.Add(1)
				for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
				}
				defer running.Add(-1)
				return 2 * item, m.sleep(ctx, 100*time.Microsecond)
			})
			if err != nil {
				t.Error(err)
			} else if err := inOrder(results, n); err != nil {
				t.Error(err)
			}
			if got := most.Load(); m.unbounded == (got <= limit) || got < limit {
				t.Errorf("%d items ran at once, the limit was %d", got, limit)
			}

			boom := errors.New("boom")
			_, err = run(t.Context(), numbers(n), func(_ context.Context, item int) (int, error) {
				if item == n/2 {
					return 0, boom
				}
				return item, nil
			})
			if !errors.Is(err, boom) {
				t.Errorf("got error %v, want boom", err)
			}
		})
	}
}
