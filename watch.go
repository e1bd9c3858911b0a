package meanwhile

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"
)

// A WatchConfig says what a [Watch] reports. The zero value is one. A threshold below zero turns its report off.
type WatchConfig struct {
	// Busy is how long a task may keep a processor busy, or hold a thread in a system call or in C, before it is reported;
	// default 1 s. Calls under [Blocking] may hold theirs.
	Busy time.Duration
	// Deaf is how long a task may go on after its cancellation; default 10 s.
	Deaf time.Duration
	// Stray is how long a goroutine that a task started with a go statement may outlive it; default 1 s. Goroutines
	// whose function belongs to the standard library are not reported: those of a connection pool outlive its users.
	Stray time.Duration
	// Threads is how many goroutines at once may hold threads in system calls or C, those under [Blocking] not
	// counted; default 100.
	Threads int
	// Lag is how long a goroutine that is ready to run may wait for a processor; default 100 ms.
	Lag time.Duration
	// Interval is how long the same finding at the same place is not reported again; default 1 minute.
	Interval time.Duration
	// Log gets the findings as warnings; default [slog.Default].
	Log *slog.Logger
}

func (c WatchConfig) withDefaults() WatchConfig {
	c.Busy = cmp.Or(c.Busy, time.Second)
	c.Deaf = cmp.Or(c.Deaf, 10*time.Second)
	c.Stray = cmp.Or(c.Stray, time.Second)
	c.Threads = cmp.Or(c.Threads, 100)
	c.Lag = cmp.Or(c.Lag, 100*time.Millisecond)
	c.Interval = cmp.Or(c.Interval, time.Minute)
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return c
}

// Watch starts a background task that looks at all trees of the process now and then, and reports what is wrong: a task
// that keeps a processor or a thread busy, one that ignores its cancellation, tasks that wait for each other, goroutines
// that outlive the task which started them, threads that pile up in system calls, and goroutines that wait for a
// processor. It writes each finding
// to the log, and tells the observer that holds for ctx ([Observe]), once for each place and interval. It ends with its
// scope. One watch is enough for a process.
//
// It looks several times within each of its thresholds, but so seldom that it needs no more than a hundredth of one
// processor; with very many tasks, it finds things later. While it runs, tasks that start label their goroutines with
// their path, for which see [runtime/pprof]: a profile of the processors, and the traceback of a crash, then name the
// tasks (with GODEBUG=tracebacklabels=1 before Go 1.27). That costs each task about two microseconds.
func Watch(ctx context.Context, c WatchConfig) *Task[Void] {
	w := &watch{c: c.withDefaults(), told: make(map[finding]time.Time)}
	watched.Store(true)
	labeling.Add(1) // from here on, and not from when the task has begun
	runs := false
	defer func() {
		if !runs {
			labeling.Add(-1)
		}
	}()
	task := Go(ctx, w.run, Name("watch"), Background())
	runs = true
	return task
}

// A watch is what the task of Watch remembers from one look to the next.
type watch struct {
	c       WatchConfig
	observe func(Event)
	told    map[finding]time.Time // when each finding was reported, within the last interval
	busy    map[uint32]spell      // tasks that were found busy, by number
	deaf    map[uint32]time.Time  // tasks that were found canceled, since when
	strays  map[strayKey]time.Time
	checked time.Time // for strays
	looks   int
	took    [5]time.Duration // by the last looks; the smallest counts, because the others may have waited for a processor
	lag     lagMeter
}

// A spell is the time for which a task was found busy at every look.
type spell struct {
	since time.Time
	looks int
}

const (
	looksPerThreshold = 5
	minWatchPeriod    = 20 * time.Millisecond
	deadlockGrace     = time.Second // a wait that gives up soon is none
	maxWatchShare     = 100         // of the time, what a look takes is at most one in so many
)

func (w *watch) run(ctx context.Context) error {
	n := from(ctx)
	w.observe = n.shared.observe
	defer labeling.Add(-1)
	w.lag.start()
	period := w.period()
	for {
		if err := Sleep(ctx, period); err != nil {
			return err
		}
		begun := time.Now()
		w.look(n.mark.id())
		w.took[w.looks%len(w.took)] = time.Since(begun)
		w.looks++
		period = max(w.period(), maxWatchShare*slices.Min(w.took[:]))
	}
}

// period is the time between two looks that the smallest threshold wants.
func (w *watch) period() time.Duration {
	smallest := time.Second * looksPerThreshold
	for _, d := range []time.Duration{w.c.Busy, w.c.Deaf, w.c.Stray, w.c.Lag * looksPerThreshold} {
		if d > 0 {
			smallest = min(smallest, d)
		}
	}
	return max(minWatchPeriod, smallest/looksPerThreshold)
}

func (w *watch) look(self uint32) {
	now := time.Now()
	w.forget(now)
	trees := Trees()
	s := survey{now: now, self: self, busy: make(map[uint32]spell), deaf: make(map[uint32]time.Time), live: make(map[uint32]bool)}
	for i := range trees {
		w.survey(&s, &trees[i])
	}
	w.busy, w.deaf = s.busy, s.deaf
	w.checkThreads(&s)
	w.checkLag(&s)
	w.checkStrays(&s)
}

// A survey is what one look found.
type survey struct {
	now           time.Time
	self          uint32
	busy          map[uint32]spell
	deaf          map[uint32]time.Time
	live          map[uint32]bool
	running, held []*Node
	blocking      int // calls under Blocking that hold a thread
}

// survey looks at a task and those below it.
func (w *watch) survey(s *survey, n *Node) {
	s.live[n.ID] = true
	if n.ID != s.self {
		w.checkBusy(s, n)
		w.checkDeaf(s, n)
		if n.Wait.Deadlock && n.Wait.Seen >= deadlockGrace {
			w.report(Event{Kind: TaskDeadlock, Path: n.Path, Elapsed: n.Wait.Seen, Wait: n.Wait}, n.Wait.place())
		}
	}
	for i := range n.Tasks {
		w.survey(s, &n.Tasks[i])
	}
}

func (w *watch) checkBusy(s *survey, n *Node) {
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
	if n.Kind == kindNames[kindStream] || w.c.Busy < 0 {
		return
	}
	since, known := w.busy[n.ID]
	if !known {
		since.since = s.now
	}
	since.looks++
	s.busy[n.ID] = since
	if d := s.now.Sub(since.since); d >= w.c.Busy && since.looks > 2 {
		w.report(Event{Kind: TaskBusy, Path: n.Path, Elapsed: d, Wait: n.Wait}, n.Wait.place())
	}
}

// checkDeaf finds tasks that were canceled and go on by themselves, not for what is below them.
func (w *watch) checkDeaf(s *survey, n *Node) {
	if w.c.Deaf < 0 || n.State != "canceled" && n.State != "abandoned" {
		return
	}
	since, known := w.deaf[n.ID]
	if !known {
		since = s.now
	}
	s.deaf[n.ID] = since
	waits := n.Wait.For != "tasks" && n.Wait.For != "task" && n.Kind != kindNames[kindStream]
	if d := s.now.Sub(since); waits && d >= w.c.Deaf {
		w.report(Event{Kind: TaskDeaf, Path: n.Path, Elapsed: d, Wait: n.Wait}, n.Wait.place())
	}
}

func (w *watch) checkThreads(s *survey) {
	if w.c.Threads < 0 {
		return
	}
	held := inSystemCalls() - s.blocking
	if held < w.c.Threads {
		return
	}
	w.report(Event{Kind: ThreadsHeld, Count: held, Places: mostPlaces(s.held)}, Frame{})
}

func (w *watch) checkLag(s *survey) {
	lag := w.lag.longest()
	if w.c.Lag < 0 || lag < w.c.Lag {
		return
	}
	w.report(Event{Kind: SchedulerLag, Elapsed: lag, Places: mostPlaces(s.running)}, Frame{})
}
