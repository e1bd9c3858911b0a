package jobtest

import (
	"slices"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// TestMinutes tests that an empty store drops orders and ends watches a minute after they were written, and prunes both. It does
// not wait: back moves what was written back in time, and rows counts orders and watches. It closes the store.
func TestMinutes(t *testing.T, s job.Store, back func(by time.Duration), rows func() int) {
	keeps(t, promise{test: func(f *fixture) {
		f.renew("w", long)
		f.insertNew()
		f.watch(f.claimOne("w").ID, time.Hour)
		for range 100 {
			f.order("w", job.Order{Do: job.OrderQuiet})
		}
		back(30 * time.Second)
		if got := f.renew("w", long); len(got.Orders) != 100 || len(got.Watched) != 1 {
			f.Errorf("after 30 s told %d orders, watched %v", len(got.Orders), got.Watched)
		}
		for range 100 {
			f.order("w", job.Order{Do: job.OrderQuiet})
		}
		back(time.Minute)
		f.order("w", job.Order{Do: job.OrderResume}) // there is room again
		if got := f.renew("w", long); !slices.Equal(got.Orders, []job.Order{{Do: job.OrderResume}}) || len(got.Watched) != 0 {
			f.Errorf("after a minute told %+v, watched %v", got.Orders, got.Watched)
		}
		f.order("w", job.Order{Do: job.OrderStop})
		back(time.Minute)
		f.prune(0, nil, 10)
		if n := rows(); n != 0 {
			f.Errorf("%d orders and watches outlive a pruning", n)
		}
	}}, func(*testing.T) job.Store { return s })
}
