package jobtest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

var watchPromises = []promise{
	{"a worker learns which of its jobs are watched", func(f *fixture) {
		a, other := f.insertLeased("w", long), f.insertLeased("other", long)
		f.insertLeased("w", long)
		if got := f.renew("w", long, a.ID); len(got.Watched) != 0 {
			f.Errorf("watched %v, want none: no job is watched", got.Watched)
		}
		f.watch(a.ID, long)
		f.watch(other.ID, long)
		for range 2 { // for as long as the watch lasts
			f.sameIDs("watched", f.renew("w", long).Watched, []job.ID{a.ID})
		}
		f.sameIDs("watched", f.renew("other", long).Watched, []job.ID{other.ID})
		f.finish(a, job.Completed)
		f.sameIDs("watched", f.renew("w", long).Watched, nil)
	}},
	{"a watch returns the last tree that was reported", func(f *fixture) {
		j := f.insertLeased("w", long)
		f.sameTree(f.watch(j.ID, long), job.Tree{})
		for _, name := range []string{"a", "b"} {
			text := fmt.Sprintf(`{"id":7,"name":"%s","wait":{"for":"\u0000 \u2028 ü"}}`, name)
			f.tellTrees("w", job.Tree{Job: j.ID, Attempt: 1, JSON: []byte(text)})
			for range 2 {
				got := f.watch(j.ID, long)
				f.near("the tree's time", got.At, f.now())
				f.sameTree(got, job.Tree{Job: j.ID, Attempt: 1, JSON: []byte(text)})
			}
		}
		large := []byte(`"` + strings.Repeat("x", job.MaxTree-2) + `"`)
		f.tellTrees("w", job.Tree{Job: j.ID, Attempt: 1, JSON: large})
		f.sameTree(f.watch(j.ID, long), job.Tree{Job: j.ID, Attempt: 1, JSON: large})
	}},
	{"a watch that began before the job does lasts", func(f *fixture) {
		j := f.insertNew()
		f.sameTree(f.watch(j.ID, long), job.Tree{})
		f.claimOne("w")
		f.sameIDs("watched", f.renew("w", long).Watched, []job.ID{j.ID})
	}},
	{"a watch is over after its time, and its tree is gone", func(f *fixture) {
		j := f.insertLeased("w", long)
		lasts := 4 * short
		f.eventually("a look before the watch is over", func() bool {
			begun := time.Now()
			f.watch(j.ID, lasts)
			f.tellTrees("w", job.Tree{Job: j.ID, Attempt: 1, JSON: []byte(`{}`)})
			tree := f.watch(j.ID, 0)
			if time.Since(begun) > lasts-pause {
				lasts *= 2
				return false
			}
			f.sameTree(tree, job.Tree{Job: j.ID, Attempt: 1, JSON: []byte(`{}`)})
			return true
		})
		f.eventually("the end of the watch", func() bool { return len(f.renew("w", long).Watched) == 0 })
		f.sameTree(f.watch(j.ID, long), job.Tree{})
		f.sameIDs("watched", f.renew("w", long).Watched, []job.ID{j.ID})
	}},
	{"a shorter watch does not end a longer one", func(f *fixture) {
		j := f.insertLeased("w", long)
		f.watch(j.ID, long)
		f.watch(j.ID, time.Millisecond)
		time.Sleep(short)
		f.sameIDs("watched", f.renew("w", long).Watched, []job.ID{j.ID})
	}},
	{"only trees of watched jobs that the worker holds are kept", func(f *fixture) {
		old := f.insertLeased("a", short)
		now := f.claimExpired("b")
		f.tellTrees("b", job.Tree{Job: now.ID, Attempt: 2, JSON: []byte(`"unwatched"`)})
		f.sameTree(f.watch(now.ID, long), job.Tree{})
		f.tellTrees("a", job.Tree{Job: old.ID, Attempt: 1, JSON: []byte(`"stale"`)})
		f.tellTrees("a", job.Tree{Job: old.ID, Attempt: 2, JSON: []byte(`"of another worker"`)})
		f.sameTree(f.watch(now.ID, long), job.Tree{})
		want := job.Tree{Job: now.ID, Attempt: 2, JSON: []byte(`"held"`)}
		f.tellTrees("b", want)
		f.tellTrees("a", job.Tree{Job: old.ID, Attempt: 1, JSON: []byte(`"stale"`)})
		f.sameTree(f.watch(now.ID, long), want)
	}},
	{"the tree of an attempt ends with it", func(f *fixture) {
		j := f.insertLeased("w", long)
		f.watch(j.ID, long)
		f.tellTrees("w", job.Tree{Job: j.ID, Attempt: 1, JSON: []byte(`{}`)})
		f.sameTree(f.watch(j.ID, long), job.Tree{Job: j.ID, Attempt: 1, JSON: []byte(`{}`)})
		j.State, j.RunAt = job.Queued, time.Time{}
		f.settle("w", j)
		f.sameTree(f.watch(j.ID, long), job.Tree{})
		again := f.claimOne("w")
		f.sameTree(f.watch(j.ID, long), job.Tree{})
		f.tellTrees("w", job.Tree{Job: j.ID, Attempt: 2, JSON: []byte(`{}`)})
		f.finish(again, job.Discarded)
		f.sameTree(f.watch(j.ID, long), job.Tree{})
		f.remove(j.ID)
		if _, err := f.Watch(f.ctx, j.ID, long); !errors.Is(err, job.ErrNotFound) {
			f.Errorf("watch of a job that does not exist: %v, want ErrNotFound", err)
		}
	}},
	{"a worker learns of the first hundred watched jobs", func(f *fixture) {
		jobs := make([]*job.Job, 110)
		for i := range jobs {
			jobs[i] = f.job()
		}
		f.insert(jobs...)
		f.take("w", len(jobs))
		for _, j := range jobs {
			f.watch(j.ID, long)
		}
		for range 2 {
			f.sameIDs("watched", f.renew("w", long).Watched, sorted(ids(jobs))[:100])
		}
	}},
}

func (f *fixture) watch(id job.ID, d time.Duration) job.Tree {
	f.Helper()
	tree, err := f.Watch(f.ctx, id, d)
	if err != nil {
		f.Fatalf("watch: %v", err)
	}
	return tree
}

func (f *fixture) tellTrees(worker string, trees ...job.Tree) {
	f.Helper()
	if _, err := f.Renew(f.ctx, job.Renewal{Worker: worker, Session: sessionOf(worker), Lease: long, Info: workerInfo, Trees: trees}); err != nil {
		f.Fatalf("renew: %v", err)
	}
}

// sameTree compares trees except for their times; the zero Tree has none.
func (f *fixture) sameTree(got, want job.Tree) {
	f.Helper()
	if got.Job != want.Job || got.Attempt != want.Attempt || string(got.JSON) != string(want.JSON) || got.At.IsZero() != (want.JSON == nil) {
		f.Errorf("tree of attempt %d of %v at %v: %.60s, want that of attempt %d of %v: %.60s", got.Attempt, got.Job, got.At, got.JSON, want.Attempt, want.Job, want.JSON)
	}
}
