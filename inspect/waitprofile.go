package inspect

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
)

// A WaitProfile shows how tasks spent their time, by their names. It is sampled: a snapshot in which 3 tasks of a name wait for a mutex, half a
// second after the previous snapshot, counts as 1.5 s in that wait.
type WaitProfile struct {
	Window    time.Duration `json:"window"`    // the time that it covers: about the last minute, or since the Watch started
	Snapshots int           `json:"snapshots"` // in the window
	Took      time.Duration `json:"took"`      // how long these snapshots took, including the Watch's own work on them
	Tasks     []TaskWaits   `json:"tasks"`     // by name, the one with the most time first
}

// TaskWaits has the waits of all tasks with one name.
type TaskWaits struct {
	// Name is the name path: the names from the root of the tree to the task, joined by "/". An unnamed task is "#" in it, and an item of a
	// stream "[]". It is also the value of the profiler label "task". A profile has at most 1,000 names; tasks with further names are under
	// "other".
	Name string `json:"name"`
	// Time is the time of these tasks, added up. Divided by the Window, it is the average number of these tasks.
	Time  time.Duration `json:"time"`
	Waits []WaitShare   `json:"waits"` // the longest first
	// Totals is the time by kind of wait ([Wait].For) since the name was first found. A name that no snapshot of the window has found is
	// dropped; when it appears again, its totals start at zero.
	Totals map[string]time.Duration `json:"totals"`
}

// A WaitShare is what the tasks with one name waited for at one place.
type WaitShare struct {
	// Wait is what the tasks waited for, and where. On has no counts and no paths of tasks; for a semaphore, it is where the semaphore was
	// created. Once 100 waits of a name are known, further waits have neither On nor a place.
	Wait  Wait          `json:"wait"`
	Time  time.Duration `json:"time"`
	Share float64       `json:"share"` // of the Time of the TaskWaits, from 0 to 1

	stacks []stackTime
}

// A stackTime is a stack, innermost place first, and for how long tasks had it.
type stackTime struct {
	calls []*location
	time  time.Duration
}

// Waits returns the wait profile of the last minute: for each name of tasks, how much of their time they spent in which wait. It is computed
// from the snapshots that a [Watch] takes, and takes none itself. It is the zero value while no Watch runs, and before its second snapshot. With
// several Watches, it is the profile of the one that started first. It may be called concurrently.
//
// Snapshots are taken at random intervals, so that work in a fixed rhythm is not found in the same wait each time. The standard error of a share
// is at most 0.5/√n with n snapshots of one task, and becomes smaller with more tasks that are independent of each other: with 600 snapshots it
// is 2 points, with 100 it is 5.
func Waits() WaitProfile {
	c := openWaitCollector()
	if c == nil {
		return WaitProfile{}
	}
	return c.profile()
}

// Stacks yields the stacks with which snapshots found tasks in the wait, the innermost function first, and the time of each. A stack that is
// unknown is nil.
func (s WaitShare) Stacks() iter.Seq2[[]Frame, time.Duration] {
	return func(yield func([]Frame, time.Duration) bool) {
		for _, t := range s.stacks {
			if !yield(framesOf(t.calls), t.time) {
				return
			}
		}
	}
}

// leastShare is the share that a wait needs to be included in a text.
const leastShare = 0.005

// String returns a line about the profile, and for each name the line of its TaskWaits, followed by a line for each place. Waits of less than
// half a percent are left out.
func (p WaitProfile) String() string {
	var b strings.Builder
	noun := "snapshots"
	if p.Snapshots == 1 {
		noun = "snapshot"
	}
	window := float64(max(1, p.Window))
	fmt.Fprintf(&b, "the last %v: %d %s, which took %.1f %% of a processor at most\n",
		p.Window.Round(time.Second), p.Snapshots, noun, 100*float64(p.Took)/window)
	for _, t := range p.Tasks {
		fmt.Fprintf(&b, "\n%v; %.1f tasks on average\n", t, float64(t.Time)/window)
		for _, s := range t.Waits {
			if s.Share >= leastShare {
				fmt.Fprintf(&b, "%6.1f %%  %v\n", 100*s.Share, s.Wait)
			}
		}
	}
	return b.String()
}

// String describes in one line what the tasks waited for, without places:
//
//	shop/order: 86 % database pool, 9 % semaphore made at api.go:12, 5 % running
//
// Waits of less than half a percent are left out.
func (t TaskWaits) String() string {
	var kinds []WaitShare
	for _, s := range t.Waits {
		wait := Wait{For: s.Wait.For, On: s.Wait.On}
		i := slices.IndexFunc(kinds, func(k WaitShare) bool { return k.Wait == wait })
		if i < 0 {
			i, kinds = len(kinds), append(kinds, WaitShare{Wait: wait})
		}
		kinds[i].Share += s.Share
	}
	slices.SortStableFunc(kinds, func(a, b WaitShare) int { return cmp.Compare(b.Share, a.Share) })
	var b strings.Builder
	b.WriteString(t.Name)
	for i, k := range kinds {
		if k.Share < leastShare {
			break
		}
		between := ", "
		if i == 0 {
			between = ": "
		}
		fmt.Fprintf(&b, "%s%.0f %% %s", between, 100*k.Share, k.Wait)
	}
	return b.String()
}
