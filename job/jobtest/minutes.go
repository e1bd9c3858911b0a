package jobtest

import (
	"slices"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// TestMinutes tests that an empty store drops commands and ends watches a minute after they were written, and prunes both. It does
// not wait: back moves the stored times back, and rows counts the stored commands and watches. It closes the store.
func TestMinutes(t *testing.T, s job.Store, back func(by time.Duration), rows func() int) {
	keeps(t.Context(), t, promise{test: func(f *fixture) {
		f.renew("w", long)
		f.insertNew()
		f.watch(f.claimOne("w").ID, time.Hour)
		for range 100 {
			f.command("w", job.Command{Do: job.CommandQuiet})
		}
		back(30 * time.Second)
		if got := f.renew("w", long); len(got.Commands) != 100 || len(got.Watched) != 1 {
			f.Errorf("after 30 s sent %d commands, watched %v", len(got.Commands), got.Watched)
		}
		for range 100 {
			f.command("w", job.Command{Do: job.CommandQuiet})
		}
		back(time.Minute)
		f.command("w", job.Command{Do: job.CommandResume}) // there is capacity again
		if got := f.renew("w", long); !slices.Equal(got.Commands, []job.Command{{Do: job.CommandResume}}) || len(got.Watched) != 0 {
			f.Errorf("after a minute sent %+v, watched %v", got.Commands, got.Watched)
		}
		f.command("w", job.Command{Do: job.CommandStop})
		back(time.Minute)
		f.prune(0, nil, 10)
		if n := rows(); n != 0 {
			f.Errorf("%d commands and watches outlive a pruning", n)
		}
	}}, func(*testing.T) job.Store { return s })
}
