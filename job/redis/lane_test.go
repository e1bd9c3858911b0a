package redis_test

import (
	"crypto/rand"
	"fmt"
	"math"
	mathrand "math/rand/v2"
	"regexp"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
	"github.com/meanwhile-go/meanwhile/job/redis"
)

// TestRate compares the arithmetic of rates in the scripts with that of package job.
func TestRate(t *testing.T) {
	s := open(t, "redis://"+sharedServer(t)+"?name="+rand.Text())
	rapid.Check(t, func(t *rapid.T) {
		r := job.Rate{N: rapid.IntRange(1, job.MaxLimit).Draw(t, "n"), Burst: rapid.IntRange(0, 1000).Draw(t, "burst")}
		if rapid.Bool().Draw(t, "few") {
			r.N = rapid.IntRange(1, 60).Draw(t, "n")
		}
		per := rapid.Int64Range(int64(r.N)*100, int64(366*24*time.Hour/time.Microsecond)).Draw(t, "per")
		if per < 1 {
			t.Skip()
		}
		r.Per = time.Duration(per) * time.Microsecond
		if job.CheckLimits("q", job.Limits{Starts: r}) != nil {
			t.Skip()
		}
		now := rapid.Int64Range(1_700_000_000_000_000, 1_900_000_000_000_000).Draw(t, "now")
		at := func(us int64) time.Time { return time.UnixMicro(us) }
		full := now
		for range rapid.IntRange(1, 6).Draw(t, "steps") {
			left := r.Left(at(full), at(now))
			n := rapid.IntRange(0, min(left, 50)).Draw(t, "starts")
			gotLeft, taken, next, err := s.Rate(t.Context(), r, full, now, n)
			if err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprint(left, r.Take(at(full), at(now), n).UnixMicro(), r.Next(at(full), at(now)).UnixMicro())
			if got := fmt.Sprint(gotLeft, taken, next); got != want {
				t.Fatalf("%+v, full %d, now %d, %d starts: got %s, want %s", r, full, now, n, got, want)
			}
			full = taken
			step := int64(r.Per/time.Microsecond)/int64(r.N) + 1
			now += rapid.Int64Range(0, min(3*step, math.MaxInt32)).Draw(t, "later")
		}
	})
}

// TestCharge compares the arithmetic of units.
func TestCharge(t *testing.T) {
	s := open(t, "redis://"+sharedServer(t)+"?name="+rand.Text())
	rapid.Check(t, func(t *rapid.T) {
		r := job.Rate{
			N: rapid.OneOf(rapid.IntRange(1, 60), rapid.IntRange(1, job.MaxCost)).Draw(t, "n"), Burst: rapid.IntRange(0, job.MaxCost).Draw(t, "burst"),
			Per: time.Duration(rapid.Int64Range(1, int64(366*24*time.Hour/time.Microsecond)).Draw(t, "per")) * time.Microsecond,
		}
		if job.CheckLimits("q", job.Limits{Units: r}) != nil {
			t.Skip()
		}
		now := rapid.Int64Range(1_700_000_000_000_000, 1_900_000_000_000_000).Draw(t, "now")
		at := func(us int64) time.Time { return time.UnixMicro(us) }
		full := now
		for range rapid.IntRange(1, 6).Draw(t, "steps") {
			n := rapid.IntRange(-job.MaxCost, job.MaxCost).Draw(t, "units")
			got, next, err := s.Charge(t.Context(), r, full, now, n)
			if err != nil {
				t.Fatal(err)
			}
			charged := r.Charge(at(full), at(now), n)
			if want := r.Next(charged, at(now)); got != charged.UnixMicro() || next != want.UnixMicro() {
				t.Fatalf("%+v, full %d, now %d, %d units: got %d, next %d, want %d, next %d", r, full, now, n, got, next, charged.UnixMicro(), want.UnixMicro())
			}
			full = got
			now += rapid.Int64Range(0, max(2*(next-now), 1)).Draw(t, "later")
		}
	})
}

// TestTurns compares a store with one in memory: both claim the same jobs, in the same order.
func TestTurns(t *testing.T) {
	address := sharedServer(t)
	for i, limits := range []job.Limits{
		{Running: 1000},
		{Running: 7},
		{EachKey: job.KeyLimits{Running: 2}},
		{Running: 12, EachKey: job.KeyLimits{Running: 3}},
		{EachKey: job.KeyLimits{InOrder: true}},
		{EachKey: job.KeyLimits{InOrder: true, HoldOnDiscard: true}},
		{EachKey: job.KeyLimits{Starts: job.Rate{N: 3, Per: 1000 * time.Hour, Burst: 9}}},
		{Starts: job.Rate{N: 1, Per: 1000 * time.Hour, Burst: 60}},
		{Units: job.Rate{N: 1, Per: 100 * time.Hour, Burst: 150}},
		{EachKey: job.KeyLimits{Units: job.Rate{N: 1, Per: 100 * time.Hour, Burst: 40}}},
		{EachKey: job.KeyLimits{Weight: 3}},
		{Running: 12, EachKey: job.KeyLimits{Running: 5, Weight: 2}},
		{Units: job.Rate{N: 1, Per: 100 * time.Hour, Burst: 400}, EachKey: job.KeyLimits{Units: job.Rate{N: 1, Per: 100 * time.Hour, Burst: 90}, Weight: 4}},
	} {
		t.Run(fmt.Sprintf("%+v", limits), func(t *testing.T) {
			b := &both{T: t, rng: mathrand.New(mathrand.NewPCG(uint64(i), 5)), stores: [2]job.Store{open(t, "redis://"+address+"?name="+rand.Text()), memory.New()}}
			b.each(func(s job.Store, _ int) error { return s.SetLimits(t.Context(), "q", limits) })
			for range 8 {
				b.insert()
				for b.claim() {
				}
				b.settle()
				b.apply()
				for b.claim() {
				}
			}
			for range 6 {
				b.limitKey()
				b.insert()
				for b.claim() {
				}
				b.settle()
			}
		})
	}
}

// TestTurnsInParts: a claim of some kinds finds all of their jobs, the highest priority first, when each run may read only three lanes or jobs of
// other kinds.
func TestTurnsInParts(t *testing.T) {
	defer redis.LookAtMost(3)()
	address, rng := sharedServer(t), mathrand.New(mathrand.NewPCG(1, 2))
	for range 20 {
		s := open(t, "redis://"+address+"?name="+rand.Text())
		if err := s.SetLimits(t.Context(), "q", job.Limits{Running: 1000}); err != nil {
			t.Fatal(err)
		}
		var jobs []*job.Job
		left, last := 0, job.HighestPriority
		for range rng.IntN(100) {
			kind := []string{"k", "other", "other"}[rng.IntN(3)]
			if kind == "k" {
				left++
			}
			jobs = append(jobs, newJob(t, kind, job.Queue("q"), job.LimitKey(fmt.Sprint(rng.IntN(20))), job.Priority(4+rng.IntN(3))))
		}
		insert(t, s, jobs...)
		for left > 0 {
			n := 1 + rng.IntN(9)
			c := job.Claim{Worker: "w", Session: 1, Queues: []job.QueueLimit{{Queue: "q", Limit: n}}, Limit: n, Lease: time.Hour, Kinds: []string{"k"}}
			claimed, err := s.Claim(t.Context(), c)
			if err != nil || len(claimed.Jobs) != min(n, left) {
				t.Fatalf("claimed %d of %d, %v; %d are left", len(claimed.Jobs), n, err, left)
			}
			for _, j := range claimed.Jobs {
				if j.Kind != "k" || j.Priority > last {
					t.Errorf("claimed a %s of priority %d after one of %d", j.Kind, j.Priority, last)
				}
				last = j.Priority
			}
			left -= len(claimed.Jobs)
		}
	}
}

// TestClaimOfSomeKindsIsInParts: jobs of other kinds in front, each in a lane of its own or all in one, do not make a run of the script long.
func TestClaimOfSomeKindsIsInParts(t *testing.T) {
	const others = 5000
	for name, key := range map[string]func(i int) string{
		"many keys": func(i int) string { return fmt.Sprint(i) },
		"one key":   func(int) string { return "a" },
		"no key":    func(int) string { return "" },
	} {
		t.Run(name, func(t *testing.T) {
			server := ownServer(t)
			runs := func() int {
				n := regexp.MustCompile(`cmdstat_evalsha:calls=(\d+)`).FindStringSubmatch(server.do(t, "INFO", "commandstats"))
				if n == nil {
					t.Fatal("no script has run")
				}
				count, _ := strconv.Atoi(n[1])
				return count
			}
			s := open(t, "redis://"+server.address()+"?name="+rand.Text())
			if err := s.SetLimits(t.Context(), "q", job.Limits{Running: 10}); err != nil {
				t.Fatal(err)
			}
			var jobs []*job.Job
			for i := range others {
				jobs = append(jobs, newJob(t, "other", job.Queue("q"), job.LimitKey(key(i))))
			}
			insert(t, s, append(jobs, newJob(t, "wanted", job.Queue("q"), job.LimitKey(key(others))))...)
			c := job.Claim{Worker: "w", Session: 1, Queues: []job.QueueLimit{{Queue: "q", Limit: 1}}, Limit: 1, Lease: time.Hour}
			if claimed, err := s.Claim(t.Context(), c); err != nil || len(claimed.Jobs) != 1 || claimed.Jobs[0].Kind != "other" { // by now all lanes have been settled
				t.Fatalf("got %+v, %v", claimed, err)
			}
			before := runs()
			c.Kinds = []string{"wanted"}
			claimed, err := s.Claim(t.Context(), c)
			if err != nil || len(claimed.Jobs) != 1 || claimed.Jobs[0].Kind != "wanted" {
				t.Fatalf("got %+v, %v", claimed, err)
			}
			if n := runs() - before; n < others/1000 || n > others/500 {
				t.Errorf("it took %d runs of scripts", n)
			}
		})
	}
}

// TestLanesThatStayOpen: a claim that leaves due jobs in each of many lanes reads each lane once, even if jobs of it have ended since; one that
// leaves none does not read the lane again; and one that finds lanes unchanged writes none.
func TestLanesThatStayOpen(t *testing.T) {
	const keys = 100
	server := ownServer(t)
	s := open(t, "redis://"+server.address()+"?name="+rand.Text())
	if err := s.SetLimits(t.Context(), "q", job.Limits{EachKey: job.KeyLimits{Running: 10}}); err != nil {
		t.Fatal(err)
	}
	var jobs []*job.Job
	for i := range 4 * keys {
		jobs = append(jobs, newJob(t, "k", job.Queue("q"), job.LimitKey(fmt.Sprint(i%keys))))
	}
	insert(t, s, jobs...)
	claimed(t, s, 1, keys, nil, "q") // by now all lanes have been settled
	server.do(t, "CONFIG", "RESETSTAT")
	calls := func(command string) int {
		n := regexp.MustCompile("cmdstat_" + command + `:calls=(\d+)`).FindStringSubmatch(server.do(t, "INFO", "commandstats"))
		if n == nil {
			return 0
		}
		count, _ := strconv.Atoi(n[1])
		return count
	}
	var got []*job.Job
	for range 3 { // the last round claims the remaining jobs
		got = claimed(t, s, 1, keys, nil, "q")
		if n := calls("zrangebyscore"); len(got) != keys || n < keys || n > keys+30 || calls("zrange") > 20 {
			t.Errorf("claimed %d, want one of each of %d keys; it read %d due jobs and %d ranges", len(got), keys, n, calls("zrange"))
		}
		for _, j := range got {
			j.State = job.Completed
		}
		if lost, err := s.Settle(t.Context(), 1, job.Outcomes(got...)...); err != nil || len(lost) > 0 {
			t.Fatalf("lost %v, %v", lost, err)
		}
		server.do(t, "CONFIG", "RESETSTAT")
	}
	claimed(t, s, 1, keys, nil, "q") // deletes the lanes
	insert(t, s, newJob(t, "k", job.Queue("q"), job.LimitKey("0")))
	claimed(t, s, 1, keys, func(c *job.Claim) { c.Kinds = []string{"other"} }, "q")
	server.do(t, "CONFIG", "RESETSTAT")
	got = claimed(t, s, 1, keys, func(c *job.Claim) { c.Kinds = []string{"other"} }, "q")
	if n := calls("hset"); len(got) != 0 || n != 1 {
		t.Errorf("claimed %d jobs of another kind; the queue was to be written, but there were %d writes", len(got), n)
	}
}

// limitKey sets limits of a key, or removes them.
func (b *both) limitKey() {
	b.Helper()
	key, l := fmt.Sprint(b.rng.IntN(6)), job.KeyLimits{}
	rate := func() job.Rate {
		return []job.Rate{{}, {N: 1, Per: 1000 * time.Hour, Burst: 1 + b.rng.IntN(20)}}[b.rng.IntN(2)]
	}
	if b.rng.IntN(4) > 0 {
		l = job.KeyLimits{Running: b.rng.IntN(9), Starts: rate(), Units: rate(), Weight: b.rng.IntN(6)}
	}
	b.each(func(s job.Store, _ int) error { return s.SetKeyLimits(b.Context(), "q", key, l) })
}

// both are two stores that should return the same. All jobs have limit keys: the place of jobs without one in the order of turns
// is not specified.
type both struct {
	*testing.T
	rng    *mathrand.Rand
	stores [2]job.Store
	held   [2][]*job.Job
}

func (b *both) each(do func(s job.Store, i int) error) {
	b.Helper()
	for i, s := range b.stores {
		if err := do(s, i); err != nil {
			b.Fatal(err)
		}
	}
}

func (b *both) insert() {
	b.Helper()
	var jobs []*job.Job
	for range b.rng.IntN(40) {
		opts := []job.EnqueueOption{job.Queue("q"), job.LimitKey(fmt.Sprint(b.rng.IntN(6))), job.Priority(4 + b.rng.IntN(3)), job.Cost(10 * b.rng.IntN(5))}
		if b.rng.IntN(8) == 0 {
			opts = append(opts, job.In(time.Hour))
		}
		jobs = append(jobs, newJob(b, []string{"k", "k", "other"}[b.rng.IntN(3)], opts...))
	}
	b.each(func(s job.Store, _ int) error { _, err := s.Insert(b.Context(), jobs...); return err })
}

// claim reports whether it claimed any jobs.
func (b *both) claim() bool {
	b.Helper()
	n := 1 + b.rng.IntN(9)
	c := job.Claim{Worker: "w", Session: 1, Queues: []job.QueueLimit{{Queue: "q", Limit: n}}, Limit: n, Lease: time.Hour}
	if b.rng.IntN(3) == 0 {
		c.Kinds = []string{"k"}
	}
	var got [2]string
	b.each(func(s job.Store, i int) error {
		claimed, err := s.Claim(b.Context(), c)
		for _, j := range claimed.Jobs {
			got[i] += fmt.Sprintln(j.ID, j.Kind, j.LimitKey, j.Priority, j.Attempt)
		}
		b.held[i] = append(b.held[i], claimed.Jobs...)
		return err
	})
	if got[0] != got[1] {
		b.Fatalf("claimed of up to %d, kinds %v:\n%s\nthe store in memory claimed\n%s", n, c.Kinds, got[0], got[1])
	}
	return got[0] != ""
}

// settle settles about half of the running jobs.
func (b *both) settle() {
	b.Helper()
	for n := len(b.held[0]) - 1; n >= 0; n-- {
		if b.rng.IntN(2) == 0 {
			continue
		}
		units := (b.rng.IntN(3) - 1) * b.rng.IntN(40)
		state, throttle := []job.State{job.Queued, job.Completed, job.Discarded}[b.rng.IntN(3)], time.Duration(0)
		if b.rng.IntN(30) == 0 {
			throttle = time.Hour
		}
		b.each(func(s job.Store, i int) error {
			j := b.held[i][n]
			b.held[i] = append(b.held[i][:n:n], b.held[i][n+1:]...)
			j.State, j.RunAt, j.Delay = state, time.Time{}, 0
			_, err := s.Settle(b.Context(), 1, job.Outcome{Job: j, Throttle: throttle, Units: units})
			return err
		})
	}
}

func (b *both) apply() {
	b.Helper()
	action := []job.Action{job.ActionCancel, job.ActionDiscard, job.ActionPriority(9), job.ActionMove("elsewhere"), job.ActionDelete}[b.rng.IntN(5)]
	b.applyTo(job.Queued, action)
	b.applyTo(job.Discarded, []job.Action{job.ActionRetry, job.ActionDelete}[b.rng.IntN(2)])
}

// applyTo applies an action to up to three jobs of a state.
func (b *both) applyTo(state job.State, action job.Action) {
	b.Helper()
	limit := 1 + b.rng.IntN(3)
	var done [2]job.ActionResult
	b.each(func(s job.Store, i int) (err error) {
		done[i], err = s.Apply(b.Context(), job.Filter{Queues: []string{"q"}, States: []job.State{state}, Limit: limit}, action)
		return err
	})
	if done[0] != done[1] {
		b.Fatalf("%s changed %+v, in memory %+v", action, done[0], done[1])
	}
}

// TestPackedLanes: lanes that a program has stored packed, as some programs of schema 3 did, are read as well.
func TestPackedLanes(t *testing.T) {
	server := ownServer(t)
	s := open(t, "redis://"+server.address())
	if err := s.SetLimits(t.Context(), job.DefaultQueue, job.Limits{EachKey: job.KeyLimits{Starts: job.Rate{N: 2, Per: 1000 * time.Hour, Burst: 2}}}); err != nil {
		t.Fatal(err)
	}
	claim := func() int {
		t.Helper()
		got, err := s.Claim(t.Context(), job.Claim{
			Worker: "w", Session: 1, Queues: []job.QueueLimit{{Queue: job.DefaultQueue, Limit: 100}}, Limit: 100, Lease: time.Hour,
		})
		if err != nil {
			t.Fatal(err)
		}
		return len(got.Jobs)
	}
	kind := job.Define[int]("k")
	enqueue := func(n int) {
		t.Helper()
		for i := range n {
			for _, key := range []string{"a", "b"} {
				if _, err := kind.Enqueue(t.Context(), s, i, job.LimitKey(key)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	enqueue(1)
	if n := claim(); n != 2 {
		t.Fatalf("claimed %d jobs, want one of each key", n)
	}
	packLanes(t, server)
	enqueue(2)
	if n := claim(); n != 2 {
		t.Errorf("claimed %d jobs, want one more of each key", n)
	}
}

// TestPackedLaneAtCapacity: a lane that was packed while it was at capacity starts the next job when one of its jobs has ended.
func TestPackedLaneAtCapacity(t *testing.T) {
	server := ownServer(t)
	s := open(t, "redis://"+server.address())
	if err := s.SetLimits(t.Context(), job.DefaultQueue, job.Limits{EachKey: job.KeyLimits{Running: 1}}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		insert(t, s, newJob(t, "k", job.LimitKey("a")), newJob(t, "k", job.LimitKey("b")))
	}
	running := claimed(t, s, 1, 4, nil, job.DefaultQueue)
	packLanes(t, server)
	for _, j := range running {
		j.State = job.Completed
	}
	if lost, err := s.Settle(t.Context(), 1, job.Outcomes(running...)...); err != nil || len(lost) > 0 {
		t.Fatalf("lost %v, %v", lost, err)
	}
	if got := claimed(t, s, 1, 4, nil, job.DefaultQueue); len(running) != 2 || len(got) != 2 {
		t.Errorf("claimed %d jobs, then %d, want one of each key both times", len(running), len(got))
	}
}

// packLanes packs the lanes of two limit keys.
func packLanes(t *testing.T, server *server) {
	t.Helper()
	if n := server.do(t, "EVAL", `
		local n = 0
		for _, lanes in ipairs(redis.call('KEYS', '{meanwhile}:l:*')) do
			local all = redis.call('HGETALL', lanes)
			for i = 1, #all, 2 do
				local v = {}
				for word in string.gmatch(all[i + 1], '%S+') do v[#v + 1] = tonumber(word) end
				redis.call('HSET', lanes, all[i], cmsgpack.pack('', unpack(v)))
				n = n + 1
			end
		end
		return n`, "0"); n != ":2\r\n" {
		t.Fatalf("packed %q lanes, want 2", n)
	}
}
