package jobtest

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
)

// A promise is one part of the contract of stores, and its test.
type promise struct {
	name string
	test func(f *fixture)
}

// contract has all promises, in the order of the files.
var contract = slices.Concat(
	insertPromises, uniquePromises, claimPromises, leasePromises, settlePromises, thenPromises, renewPromises, waitPromises,
	applyPromises, applyConcurrentPromises, listPromises, metaPromises, queuePromises, limitPromises, ratePromises, unitsPromises, throttlePromises, inOrderPromises, holdPromises, turnPromises, weightPromises, overridePromises, limitConcurrentPromises, cronPromises,
	watchPromises, orderPromises, statsPromises, auditPromises, prunePromises, closePromises, concurrentPromises,
)

// TestStore tests that a store does what [job.Store] promises, each part in a test of its own. open returns an empty store; TestStore closes it,
// and open can clean up anything else with t.Cleanup. open may call t.Parallel: the tests then run at once. They take some seconds, since they wait
// for leases to run out. If an event that a test waits for does not happen, the test fails ten seconds before the timeout of go test, not earlier,
// since the time that a call takes depends on the machine. The tests of relaxed parts are skipped.
func TestStore(t *testing.T, open func(t *testing.T) job.Store, by ...Relaxation) {
	testPromises(t, by, func(t *testing.T, p promise) {
		ctx, cancel := beforeTimeout(t)
		defer cancel()
		keeps(ctx, t, p, open)
	})
}

// TestStoreInBubble is [TestStore] for a store in memory: each test runs in a bubble of testing/synctest, so that waiting takes
// no time. open is called within the bubble.
func TestStoreInBubble(t *testing.T, open func(t *testing.T) job.Store, by ...Relaxation) {
	testPromises(t, by, func(t *testing.T, p promise) { keepsInBubble(t, p, open) })
}

func testPromises(t *testing.T, by []Relaxation, test func(t *testing.T, p promise)) {
	for _, p := range contract {
		t.Run(p.name, func(t *testing.T) {
			if r := leftOut(p, by); r != "" {
				t.Skipf("left out: %s", r)
			}
			test(t, p)
		})
	}
}

// beforeTimeout returns a ctx that ends some seconds before the timeout of go test, so that the test can still report what it
// waited for.
func beforeTimeout(t *testing.T) (context.Context, context.CancelFunc) {
	const toReport = 10 * time.Second
	if end, ok := t.Deadline(); ok {
		return context.WithDeadline(t.Context(), end.Add(-toReport))
	}
	return context.WithCancel(t.Context())
}

// patience is how long a test in a bubble waits for an expected event. Only waiting takes time there.
const patience = time.Minute

func keepsInBubble(t *testing.T, p promise, open func(t *testing.T) job.Store) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		keeps(ctx, t, p, open)
	})
}

// keeps runs the test of one promise, and then tests that the counts are right and that the lanes match their jobs.
func keeps(ctx context.Context, t *testing.T, p promise, open func(t *testing.T) job.Store) {
	f := &fixture{T: t, Store: open(t)}
	defer func() {
		if err := f.Close(); err != nil && !f.closed {
			t.Errorf("close: %v", err)
		}
	}()
	err := meanwhile.Run(ctx, func(ctx context.Context) error {
		f.ctx = ctx
		p.test(f)
		if !f.closed {
			f.checkCounts()
			f.checkLanes()
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
