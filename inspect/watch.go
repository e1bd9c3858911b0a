package inspect

import (
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// A WatchConfig configures a [Watch]. The zero value uses the defaults. A threshold below zero turns its report off.
type WatchConfig struct {
	// Busy is how long a task may keep a processor busy, or hold a thread in a system call or in C, before it is reported; default 1 s. Calls
	// under [meanwhile.Blocking] may hold their threads.
	Busy time.Duration
	// CancellationIgnored is how long a task may keep running after its cancellation; default 10 s.
	CancellationIgnored time.Duration
	// GoroutineLeaked is how long a goroutine that a task started with a go statement may run after the task's end; default 1 s. Goroutines
	// whose function belongs to the standard library are not reported: those of a connection pool keep running after its users have ended.
	GoroutineLeaked time.Duration
	// Threads is how many goroutines may hold threads in system calls or C at the same time, not counting those under [meanwhile.Blocking];
	// default 100.
	Threads int
	// SchedulingLatency is how long a goroutine that is ready to run may wait for a processor; default 100 ms.
	SchedulingLatency time.Duration
	// PileUp is how many tasks may pile up at a place where they wait for something that others have, or for a response, before it is reported;
	// default 50. It counts the tasks that were there in each snapshot of the last sixth of the Interval. A pile is reported only when it keeps
	// growing and is at least four times as large as one Interval before.
	PileUp int
	// LeakProfile is how often the garbage collector is asked for goroutines that can never continue ([Leaks]); default never. Each time costs a
	// garbage collection of the whole program, and it is done less often when that would use more than a hundredth of the time.
	LeakProfile time.Duration
	// Interval is the time in which the same finding at the same place is not reported again; default 1 minute.
	Interval time.Duration
	// Log receives the findings as warnings; default [slog.Default].
	Log *slog.Logger
	// Report is also called with each finding, in the goroutine of the watch, which waits for it; nil for none. A panic of Report ends the
	// watch, and is a failure of its scope.
	Report func(Finding)
}

func (c WatchConfig) withDefaults() WatchConfig {
	c.Busy = cmp.Or(c.Busy, time.Second)
	c.CancellationIgnored = cmp.Or(c.CancellationIgnored, 10*time.Second)
	c.GoroutineLeaked = cmp.Or(c.GoroutineLeaked, time.Second)
	c.Threads = cmp.Or(c.Threads, 100)
	c.SchedulingLatency = cmp.Or(c.SchedulingLatency, 100*time.Millisecond)
	c.PileUp = cmp.Or(c.PileUp, 50)
	c.Interval = cmp.Or(c.Interval, time.Minute)
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return c
}

// Watch starts a background task that repeatedly takes a snapshot of all trees of the process, and reports problems: a task that keeps a
// processor or a thread busy, a task that ignores its cancellation, tasks that wait for each other, goroutines that still run after the end of
// the task that started them, tasks that pile up at one place, threads that pile up in system calls, and goroutines that wait for a processor.
// It logs each finding, and passes it to Report, once per place and interval. It ends with its scope. One watch is enough for a process.
//
// It takes several snapshots within each of its thresholds, at random intervals. After its first seconds, in which it measures what a snapshot
// costs, it uses at most a hundredth of one processor; with very many tasks it reports later. [Waits] adds up what the tasks were waiting for.
// While a watch runs, tasks record when they start, which costs each of them a reading of the clock.
func Watch(ctx context.Context, c WatchConfig) *meanwhile.Task[struct{}] {
	w := &watch{c: c.withDefaults(), reported: make(map[findingKey]time.Time)}
	scope.Watched.Store(true)
	return meanwhile.Go(ctx, w.run, meanwhile.Name("watch"), meanwhile.InBackground())
}

// A watch is the state of the task of Watch between snapshots.
type watch struct {
	c        WatchConfig
	reported map[findingKey]time.Time // when each finding of the last interval was reported
	piles    piles
	busy     map[uint32]busySince // tasks that were found busy, by number
	ignored  map[uint32]time.Time // since when tasks have been found canceled
	leaks    map[leakKey]leak
	checked  time.Time // when leaks were last searched for

	profiled time.Time // when the leak profile may be read next
	scans    int
	took     [5]time.Duration // how long the last scans took; the shortest counts, since the others may have waited for a processor
	latency  latencyMeter
	waits    *waitCollector
}

// A busySince tells since when, and in how many snapshots in a row, a task was found busy.
type busySince struct {
	since     time.Time
	snapshots int
}

const (
	snapshotsPerThreshold = 5
	minWatchPeriod        = 20 * time.Millisecond
	deadlockGrace         = time.Second // a wait that gives up soon is not a deadlock

	// A watch should use at most a hundredth of a processor. The fastest of its last scans may use one part in scanShare of the time, and the
	// search for leaked goroutines one in leakShare. The rest is for slower scans, and for the garbage collector.
	maxWatchShare = 100
	scanShare     = 3 * maxWatchShare
	leakShare     = 4 * maxWatchShare
)

func (w *watch) run(ctx context.Context) error {
	n := scope.From(ctx)
	w.latency.start()
	w.waits = newWaitCollector()
	defer w.waits.close()
	period := w.period()
	for {
		if err := meanwhile.Sleep(ctx, jittered(period)); err != nil {
			return err
		}
		begun := time.Now()
		w.scan(n.ID())
		took := time.Since(begun)
		w.waits.spent(took)
		w.took[w.scans%len(w.took)] = took
		w.scans++
		period = w.affordable()
	}
}

// jittered returns a random time that is period on average. Snapshots in a fixed rhythm would find work with the same rhythm, or a multiple of
// it, always in the same wait, and the wait profile would show only that.
func jittered(period time.Duration) time.Duration { return period/2 + rand.N(period) }

// period returns the average time between two snapshots that the lowest threshold requires.
func (w *watch) period() time.Duration {
	smallest := time.Second * snapshotsPerThreshold
	for _, d := range []time.Duration{w.c.Busy, w.c.CancellationIgnored, w.c.GoroutineLeaked, w.c.SchedulingLatency * snapshotsPerThreshold} {
		if d > 0 {
			smallest = min(smallest, d)
		}
	}
	return max(minWatchPeriod, smallest/snapshotsPerThreshold)
}

// affordable returns the average time between two snapshots that their cost allows.
func (w *watch) affordable() time.Duration { return max(w.period(), scanShare*slices.Min(w.took[:])) }

func (w *watch) scan(self uint32) {
	now := time.Now()
	w.forget(now)
	trees := Trees()
	w.waits.add(now, trees, self)
	s := scan{now: now, self: self, busy: make(map[uint32]busySince), ignored: make(map[uint32]time.Time), live: make(map[uint32]bool), found: make(map[findingKey]*Finding)}
	for i := range trees {
		w.check(&s, &trees[i])
	}
	w.busy, w.ignored = s.busy, s.ignored
	w.checkThreads(&s)
	w.checkLatency(&s)
	w.checkLeaks(&s)
	w.checkUnreachable(&s)
	w.checkPiles(&s)
	w.publish(&s)
}

// A scan is the result of one snapshot.
type scan struct {
	now           time.Time
	self          uint32
	busy          map[uint32]busySince
	ignored       map[uint32]time.Time
	live          map[uint32]bool
	found         map[findingKey]*Finding
	piled         map[pileKey]*pileCount
	running, held []*Node
	blocking      int // calls under Blocking that hold a thread
}

// check checks a task and the tasks below it.
func (w *watch) check(s *scan, n *Node) {
	s.live[n.ID] = true
	if n.ID != s.self {
		w.checkBusy(s, n)
		w.checkIgnored(s, n)
		w.countPiled(s, n)
		if n.Wait.Deadlock && n.Wait.Seen >= deadlockGrace {
			s.report(Finding{Kind: TaskDeadlock, Path: n.Path, Elapsed: n.Wait.Seen, Wait: n.Wait}, n.Wait.frame())
		}
	}
	for i := range n.Tasks {
		w.check(s, &n.Tasks[i])
	}
}

func (w *watch) checkBusy(s *scan, n *Node) {
	switch n.Wait.For {
	case "running":
		s.running = append(s.running, n)
	case "system call", "C call":
		if n.call != nil {
			s.blocking++
			return
		}
		s.held = append(s.held, n)
	default:
		return
	}
	if n.Kind == scope.KindNames[scope.KindStream] || w.c.Busy < 0 {
		return
	}
	since, known := w.busy[n.ID]
	if !known {
		since.since = s.now
	}
	since.snapshots++
	s.busy[n.ID] = since
	if d := s.now.Sub(since.since); d >= w.c.Busy && since.snapshots > 2 {
		s.report(Finding{Kind: TaskBusy, Path: n.Path, Elapsed: d, Wait: n.Wait}, n.Wait.frame())
	}
}

// checkIgnored finds tasks that were canceled and keep running because of their own function, not because of the tasks below them.
func (w *watch) checkIgnored(s *scan, n *Node) {
	if w.c.CancellationIgnored < 0 || n.State != "canceled" && n.State != "abandoned" {
		return
	}
	since, known := w.ignored[n.ID]
	if !known {
		since = s.now
	}
	s.ignored[n.ID] = since
	waits := n.Wait.For != "tasks" && n.Wait.For != "task" && n.Kind != scope.KindNames[scope.KindStream]
	if d := s.now.Sub(since); waits && d >= w.c.CancellationIgnored {
		s.report(Finding{Kind: CancellationIgnored, Path: n.Path, Elapsed: d, Wait: n.Wait}, n.Wait.frame())
	}
}

func (w *watch) checkThreads(s *scan) {
	if w.c.Threads < 0 {
		return
	}
	held := inSystemCalls() - s.blocking
	if held < w.c.Threads {
		return
	}
	s.report(Finding{Kind: ThreadsHeld, Count: held, Places: mostPlaces(s.held)}, Frame{})
}

func (w *watch) checkLatency(s *scan) {
	latency := w.latency.longest()
	if w.c.SchedulingLatency < 0 || latency < w.c.SchedulingLatency {
		return
	}
	s.report(Finding{Kind: SchedulingLatency, Elapsed: latency, Places: mostPlaces(s.running)}, Frame{})
}
