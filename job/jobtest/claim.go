package jobtest

import (
	"math"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

var claimPromises = []promise{
	{"claim takes only the kinds that it names", func(f *fixture) {
		first, mine, other := f.kind("theirs"), f.kind("mine"), f.kind("theirs", job.Priority(9))
		f.insert(first, mine, other)
		claim := func(kinds []string, want ...job.ID) {
			f.Helper()
			c := job.Claim{Worker: "w", Session: sessionOf("w"), Queues: queues(10, job.DefaultQueue), Limit: 10, Lease: long, Kinds: kinds}
			f.sameIDs("claimed", ids(f.claimBy(c).Jobs), want)
		}
		claim([]string{})
		claim([]string{"none"})
		claim([]string{"mine", "none"}, mine.ID)
		late := f.kind("mine")
		f.insert(late)
		claim([]string{"mine"}, late.ID)
		claim(nil, other.ID, first.ID)
	}},
	{"claim takes over only the kinds that it names", func(f *fixture) {
		j := f.insertLeased("gone", short)
		take := func(kinds ...string) []*job.Job {
			return f.claimBy(job.Claim{Worker: "w", Session: sessionOf("w"), Queues: queues(1, job.DefaultQueue), Limit: 1, Lease: long, Kinds: kinds, Expired: true}).Jobs
		}
		f.eventually("the lease to be over", func() bool { return f.expired(j.ID) })
		f.sameIDs("claimed", ids(take("other")), nil)
		f.sameIDs("claimed", ids(take("k")), []job.ID{j.ID})
	}},
	{"claim gives a job with all its fields", func(f *fixture) {
		j := f.insertNew(job.Priority(8), job.MaxAttempts(4), job.Unique("a"), job.UniqueFor(time.Hour))
		queued := f.read(j.ID)
		got := f.claimOne("w")
		f.near("started", got.Started, f.now())
		f.sameTime("due", got.RunAt, queued.RunAt)
		f.sameTime("created", got.Created, queued.Created)
		if got.State != job.Running || got.Attempt != 1 || got.Worker != "w" || got.CancelRequested || got.Crashed != 0 || got.Uncounted != 0 {
			f.Errorf("claimed %+v", got)
		}
		if got.Kind != "k" || got.Queue != job.DefaultQueue || got.Priority != 8 || got.MaxAttempts != 4 || got.UniqueKey != j.UniqueKey ||
			got.UniqueFor != time.Hour || string(got.Args) != string(j.Args) {
			f.Errorf("claimed %+v, want the fields of %+v", got, j)
		}
		stored := f.read(j.ID)
		if stored.State != job.Running || stored.Attempt != 1 || stored.Worker != "w" || !stored.Started.Equal(got.Started) {
			f.Errorf("stored %+v, want what was claimed: %+v", stored, got)
		}
	}},
	{"a durable claim takes what is due", func(f *fixture) {
		a, b := f.insertNew(), f.insertNew()
		c := job.Claim{Worker: "w", Session: sessionOf("w"), Queues: queues(1, job.DefaultQueue), Limit: 1, Lease: long, Durable: true}
		for _, j := range []*job.Job{a, b} {
			f.sameIDs("claimed", ids(f.claimBy(c).Jobs), []job.ID{j.ID})
		}
	}},
	{"a claim with a limit far above what there is takes all", func(f *fixture) {
		var want []job.ID
		for _, opts := range [][]job.EnqueueOption{nil, {job.LimitKey("a")}, {job.LimitKey("b")}, {job.LimitKey("a")}} {
			want = append(want, f.insertNew(opts...).ID)
			c := job.Claim{Worker: "w", Session: sessionOf("w"), Queues: queues(math.MaxInt, job.DefaultQueue), Limit: math.MaxInt, Lease: long, Expired: true}
			f.sameIDs("claimed", ids(f.claimBy(c).Jobs), want[len(want)-1:])
		}
	}},
	{"a job is claimed once", func(f *fixture) {
		f.insertNew()
		f.claimOne("a")
		for _, worker := range []string{"a", "b"} {
			if got := f.claim(worker, 10); len(got) > 0 {
				f.Errorf("%s claimed a job that is held", worker)
			}
		}
	}},
	{"claim of nothing", func(f *fixture) {
		claimed := f.claimBy(job.Claim{Worker: "w", Session: sessionOf("w"), Queues: queues(10, "none"), Limit: 10, Lease: long, Expired: true})
		if len(claimed.Jobs) != 0 || len(claimed.Expired) != 0 || claimed.Next != 0 {
			f.Errorf("claimed %+v", claimed)
		}
		f.insertNew()
		for _, c := range []job.Claim{
			{Worker: "w", Lease: long, Limit: 10},
			{Worker: "w", Lease: long, Limit: 0, Queues: queues(10, job.DefaultQueue)},
			{Worker: "w", Lease: long, Limit: 10, Queues: queues(0, job.DefaultQueue)},
		} {
			if claimed := f.claimBy(c); len(claimed.Jobs) != 0 {
				f.Errorf("claim %+v took a job", c)
			}
		}
	}},
	{"a higher priority is claimed first", func(f *fixture) {
		byPriority := map[int]*job.Job{}
		for _, p := range []int{5, 1, 9, 4, 6, 2, 8, 3, 7} {
			byPriority[p] = f.insertNew(job.Priority(p), job.At(f.now().Add(time.Duration(p-20)*time.Minute)))
		}
		for p := job.HighestPriority; p >= job.LowestPriority; p-- {
			f.sameIDs("claimed", ids(f.claim("w", 1)), []job.ID{byPriority[p].ID})
		}
	}},
	{"of one priority what is due longer is claimed first", func(f *fixture) {
		now := f.now()
		b, c, a := f.insertNew(job.At(now.Add(-2*time.Hour))), f.insertNew(job.At(now.Add(-time.Hour))), f.insertNew(job.At(now.Add(-3*time.Hour)))
		for _, want := range []*job.Job{a, b, c} {
			f.sameIDs("claimed", ids(f.claim("w", 1)), []job.ID{want.ID})
		}
	}},
	{"of one time what is older is claimed first", func(f *fixture) {
		at := f.now().Add(-time.Hour).Truncate(time.Second)
		a, b, c := f.job(job.At(at)), f.job(job.At(at)), f.job(job.At(at))
		f.insert(c)
		f.insert(a, b)
		for _, want := range []*job.Job{a, b, c} {
			f.sameIDs("claimed", ids(f.claim("w", 1)), []job.ID{want.ID})
		}
	}},
	{"many are claimed in order", func(f *fixture) {
		now := f.now().Truncate(time.Second)
		var jobs []*job.Job
		for i := range 60 {
			jobs = append(jobs, f.job(job.Priority(1+i*7%9), job.At(now.Add(-time.Duration(i*5%4+1)*time.Minute))))
		}
		f.insert(jobs...)
		slices.SortStableFunc(jobs, func(a, b *job.Job) int {
			if a.Priority != b.Priority {
				return b.Priority - a.Priority
			}
			return a.RunAt.Compare(b.RunAt)
		})
		got := ids(f.claim("w", 25))
		for range 5 {
			got = append(got, ids(f.claim("w", 7))...)
		}
		f.sameIDs("claimed", got, ids(jobs))
	}},
	{"queues are taken from in order", func(f *fixture) {
		low := f.insertNew(job.Queue("a"), job.Priority(1))
		high := f.insertNew(job.Queue("b"), job.Priority(9), job.At(f.now().Add(-time.Hour)))
		other := f.insertNew(job.Queue("c"))
		for _, want := range []*job.Job{low, high} {
			got := f.claimBy(job.Claim{Worker: "w", Session: sessionOf("w"), Queues: queues(5, "a", "b"), Limit: 1, Lease: long})
			f.sameIDs("claimed", ids(got.Jobs), []job.ID{want.ID})
		}
		if got := f.claimBy(job.Claim{Worker: "w", Session: sessionOf("w"), Queues: queues(5, "a", "b"), Limit: 5, Lease: long}); len(got.Jobs) != 0 {
			f.Errorf("claimed %v from empty queues", ids(got.Jobs))
		}
		f.state(other.ID, job.Queued)
	}},
	{"a claim keeps to its limits", func(f *fixture) {
		byQueue := map[string][]job.ID{}
		for _, queue := range []string{"a", "b", "c"} {
			for range 5 {
				byQueue[queue] = append(byQueue[queue], f.insertNew(job.Queue(queue)).ID)
			}
		}
		got := f.claimBy(job.Claim{Worker: "w", Session: sessionOf("w"), Limit: 6, Lease: long, Queues: []job.QueueLimit{{Queue: "b", Limit: 2}, {Queue: "a", Limit: 3}, {Queue: "c", Limit: 4}}})
		f.sameIDs("claimed", ids(got.Jobs), slices.Concat(byQueue["b"][:2], byQueue["a"][:3], byQueue["c"][:1]))
		got = f.claimBy(job.Claim{Worker: "w", Session: sessionOf("w"), Limit: 20, Lease: long, Queues: []job.QueueLimit{{Queue: "c", Limit: 1}, {Queue: "b", Limit: 20}, {Queue: "a", Limit: 0}}})
		f.sameIDs("claimed", ids(got.Jobs), slices.Concat(byQueue["c"][1:2], byQueue["b"][2:]))
	}},
	{"claim leaves what is not due, and says when it is", func(f *fixture) {
		f.insertNew(job.In(3*time.Hour), job.Priority(9))
		f.insertNew(job.In(time.Hour), job.Queue("b"))
		f.insertNew(job.In(2*time.Hour), job.Priority(1))
		for _, test := range []struct {
			queues []job.QueueLimit
			want   time.Duration
		}{
			{queues(5, job.DefaultQueue, "b"), time.Hour},
			{queues(5, job.DefaultQueue), 2 * time.Hour},
			{[]job.QueueLimit{{Queue: job.DefaultQueue, Limit: 5}, {Queue: "b", Limit: 0}}, 2 * time.Hour},
			{queues(5, "none"), 0},
		} {
			got := f.claimBy(job.Claim{Worker: "w", Session: sessionOf("w"), Queues: test.queues, Limit: 5, Lease: long})
			if len(got.Jobs) != 0 || got.Next > test.want || got.Next < test.want-slack {
				f.Errorf("claim of %v took %d jobs, the next in %v, want none and %v", test.queues, len(got.Jobs), got.Next, test.want)
			}
		}
		f.insertNew()
		if got := f.claimBy(job.Claim{Worker: "w", Session: sessionOf("w"), Queues: queues(5, job.DefaultQueue), Limit: 5, Lease: long}); len(got.Jobs) != 1 || got.Next < time.Hour {
			f.Errorf("claim took %d jobs, the next in %v, want 1 and about 2 h", len(got.Jobs), got.Next)
		}
	}},
	{"claim leaves out paused queues", func(f *fixture) {
		a := f.insertNew(job.Queue("a"))
		f.insertNew(job.Queue("a"), job.In(time.Hour))
		b := f.insertNew(job.Queue("b"))
		c := job.Claim{Worker: "w", Session: sessionOf("w"), Queues: queues(5, "a", "b"), Limit: 5, Lease: long}
		f.pauseQueue("a", true)
		got := f.claimBy(c)
		f.sameIDs("claimed", ids(got.Jobs), []job.ID{b.ID})
		if got.Next != 0 {
			f.Errorf("the next job of a paused queue is reported as due in %v", got.Next)
		}
		f.pauseQueue("a", false)
		got = f.claimBy(c)
		f.sameIDs("claimed", ids(got.Jobs), []job.ID{a.ID})
		if got.Next == 0 {
			f.Error("the next due time of a resumed queue is not reported")
		}
	}},
	{"a queue that is named twice counts once", func(f *fixture) {
		for range 4 {
			f.insertNew()
		}
		c := job.Claim{Worker: "w", Session: sessionOf("w"), Queues: queues(1, job.DefaultQueue, job.DefaultQueue), Limit: 9, Lease: long}
		if got := f.claimBy(c); len(got.Jobs) != 1 {
			f.Errorf("%d jobs were claimed, want 1", len(got.Jobs))
		}
		c.Queues[1].Limit, c.Limit = 2, 9
		if c.Queues[0].Limit = 0; len(f.claimBy(c).Jobs) != 2 {
			f.Error("a queue that is listed twice is not claimed from if its first limit is 0")
		}
	}},
	{"an attempt is counted with each claim", func(f *fixture) {
		j := f.insertNew()
		for want := 1; want <= 3; want++ {
			got := f.claimOne("w")
			if got.Attempt != want {
				f.Errorf("attempt is %d, want %d", got.Attempt, want)
			}
			got.State, got.RunAt = job.Queued, time.Time{}
			f.settle("w", got)
		}
		if got := f.read(j.ID); got.Attempt != 3 || got.Crashed != 0 {
			f.Errorf("attempt is %d, crashed attempts are %d, want 3 and 0", got.Attempt, got.Crashed)
		}
	}},
}

func (f *fixture) pauseQueue(name string, paused bool) {
	f.Helper()
	if err := f.Pause(f.ctx, name, paused); err != nil {
		f.Fatalf("pause %s: %v", name, err)
	}
}
