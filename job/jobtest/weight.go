package jobtest

import (
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

var weightPromises = []promise{
	{"keys take turns by their weights, and one that waits alone gets all", func(f *fixture) {
		f.limitKey("a", job.KeyLimits{Weight: 3})
		f.limitKey("b", job.KeyLimits{Running: 100})
		f.backlog("a", 20)
		f.backlog("b", 12)
		f.keys(4, "a", "a", "a", "b")
		f.keys(8, "a", "a", "a", "a", "a", "a", "b", "b")
		f.limitKey("a", job.KeyLimits{})
		f.keys(4, "a", "a", "b", "b")
		f.limitKey("a", job.KeyLimits{Weight: 3})
		f.remove(ids(f.list(job.Filter{States: []job.State{job.Queued}}))...)
		f.backlog("a", 5)
		f.keys(7, "a", "a", "a", "a", "a")
	}},
	{"the weight of each key is that of keys without their own, and jobs without a key have one", func(f *fixture) {
		f.limit(job.Limits{EachKey: job.KeyLimits{Weight: 2}})
		f.limitKey("c", job.KeyLimits{Weight: 1})
		f.backlog("a", 8)
		f.backlog("b", 8)
		f.backlog("c", 8)
		f.backlog("", 8)
		f.keys(6, "", "a", "a", "b", "b", "c")
		f.keys(12, "", "", "a", "a", "a", "a", "b", "b", "b", "b", "c", "c")
		f.limit(job.Limits{})
		f.keys(4, "", "a", "b", "c")
	}},
	{"a turn that is not used up goes on in the next claim", func(f *fixture) {
		f.limit(job.Limits{EachKey: job.KeyLimits{Weight: 4}})
		f.limitKey("b", job.KeyLimits{Weight: 1})
		f.backlog("a", 30)
		f.backlog("b", 10)
		var order []string
		for _, n := range []int{1, 1, 1, 1, 1, 1, 1, 3, 1, 2, 6, 1} {
			f.limit(job.Limits{Running: 100 + n, EachKey: job.KeyLimits{Weight: 4}}) // does not end a turn
			order = append(order, f.keysOf(n)...)
			// One job in five is of key b, except that a claim of several jobs may return them in any order.
			if b := count(order, "b"); n == 1 && (b < len(order)/5 || b > (len(order)+4)/5) {
				f.Fatalf("after %d claims of one, and of several, the keys are %q", len(order), order)
			}
		}
		if b := count(order, "b"); b != len(order)/5 {
			f.Errorf("%d of %d jobs are of key b, want %d: %q", b, len(order), len(order)/5, order)
		}
		// The same holds where claims are for one kind, and the key has jobs of another kind with a higher priority.
		f.insert(f.kind("other", job.LimitKey("a"), job.Priority(9)), f.kind("other", job.LimitKey("b"), job.Priority(9)))
		claim := job.Claim{Worker: "w", Session: sessionOf("w"), Queues: queues(1, job.DefaultQueue), Limit: 1, Lease: long, Kinds: []string{"k"}}
		order = nil
		for range 10 {
			for _, j := range f.claimBy(claim).Jobs {
				order = append(order, j.LimitKey)
			}
		}
		if count(order, "a") != 8 || count(order, "b") != 2 {
			f.Errorf("claims of one kind returned jobs of the keys %q, want 8 of a and 2 of b", order)
		}
	}},
	{"keys take turns in claims of one kind, though they have jobs of others with higher priorities", func(f *fixture) {
		f.limit(job.Limits{Running: 100, EachKey: job.KeyLimits{Running: 50}})
		for _, key := range []string{"a", "b", "c"} {
			f.backlog(key, 10)
		}
		f.insert(f.kind("other", job.LimitKey("a"), job.Priority(9)), f.kind("other", job.LimitKey("b"), job.Priority(8)))
		claim := job.Claim{Worker: "w", Session: sessionOf("w"), Queues: queues(1, job.DefaultQueue), Limit: 1, Lease: long, Kinds: []string{"k"}}
		var order []string
		for range 9 {
			for _, j := range f.claimBy(claim).Jobs {
				order = append(order, j.LimitKey)
			}
		}
		if count(order, "a") != 3 || count(order, "b") != 3 || count(order, "c") != 3 {
			f.Errorf("claims of one kind returned jobs of the keys %q, want three of each", order)
		}
	}},
	{"a key with one job waits for no more starts of each other key than its weight", func(f *fixture) {
		weights := map[string]int{"a": 3, "b": 2, "c": 1}
		for key, weight := range weights {
			f.limitKey(key, job.KeyLimits{Weight: weight})
			f.backlog(key, 20)
		}
		f.claim("w", 4)
		for range 3 {
			f.insertNew(job.LimitKey("one"))
			waited := map[string]int{}
			for {
				key := f.keysOf(1)[0]
				if key == "one" {
					break
				}
				if waited[key]++; waited[key] > weights[key] {
					f.Fatalf("the key waited for %d starts of key %s, whose weight is %d", waited[key], key, weights[key])
				}
			}
		}
	}},
	{"a key that cannot use up its turn holds up no others", func(f *fixture) {
		f.limitKey("a", job.KeyLimits{Weight: 5, Running: 2})
		f.limitKey("b", job.KeyLimits{Weight: 5, Starts: job.Rate{N: 1, Per: time.Hour}})
		f.insert(f.job(job.LimitKey("few")), f.kind("other", job.LimitKey("few")))
		f.limitKey("few", job.KeyLimits{Weight: 5})
		f.backlog("a", 9)
		f.backlog("b", 9)
		f.backlog("d", 9)
		claim := job.Claim{Worker: "w", Session: sessionOf("w"), Queues: queues(8, job.DefaultQueue), Limit: 8, Lease: long, Kinds: []string{"k"}}
		var got []string
		for _, j := range f.claimBy(claim).Jobs {
			got = append(got, j.LimitKey)
		}
		if slices.Sort(got); !slices.Equal(got, []string{"a", "a", "b", "d", "d", "d", "d", "few"}) {
			f.Fatalf("claimed jobs of the keys %q", got)
		}
	}},
}

// backlog inserts n jobs of a key.
func (f *fixture) backlog(key string, n int) {
	f.Helper()
	var jobs []*job.Job
	for range n {
		jobs = append(jobs, f.job(job.LimitKey(key)))
	}
	f.insert(jobs...)
}

// keysOf claims n jobs and returns their keys.
func (f *fixture) keysOf(n int) (keys []string) {
	f.Helper()
	for _, j := range f.take("w", n) {
		keys = append(keys, j.LimitKey)
	}
	return keys
}

func count(keys []string, key string) (n int) {
	for _, k := range keys {
		if k == key {
			n++
		}
	}
	return n
}
