package inspect

import (
	"cmp"
	"errors"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/scope"
)

// ErrNoLeakProfile is the error of [Leaks] when the runtime has no goroutine leak profile.
var ErrNoLeakProfile = errors.New("this program was built with a version of Go that has no goroutine leak profile: build it with Go 1.27 or newer")

// A Leak is a group of goroutines that can never continue: no goroutine that still runs can reach what they wait for.
type Leak struct {
	Task  string `json:"task,omitempty"` // the task that started them, or that they run: its path without numbers, as in profiles; empty for none
	Wait  Wait   `json:"wait"`           // what they wait for, and where
	Count int    `json:"count"`
}

// String describes the leak in one line.
func (l Leak) String() string {
	of := "no task"
	if l.Task != "" {
		of = l.Task
	}
	noun := " goroutines of "
	if l.Count == 1 {
		noun = " goroutine of "
	}
	return strconv.Itoa(l.Count) + noun + of + ": " + l.Wait.String()
}

// Leaks returns the goroutines that are certainly leaked: the garbage collector has found that nothing else can reach the channels, locks or
// other objects of package sync that they wait for. It is the runtime's goroutine leak profile, read with the names of tasks; the entry with the
// most goroutines comes first. A goroutine that waits for something global, or for the network, is never in it. The error is [ErrNoLeakProfile]
// before Go 1.27.
//
// Each call runs a garbage collection of the whole program, which keeps running in the meantime.
func Leaks() ([]Leak, error) {
	profile := pprof.Lookup("goroutineleak")
	if profile == nil {
		return nil, ErrNoLeakProfile
	}
	return leaksIn(profile)
}

// leaksIn reads a profile of goroutines.
func leaksIn(profile *pprof.Profile) ([]Leak, error) {
	places.Lock()
	defer places.Unlock()
	samples, err := readSamples(profile)
	if err != nil {
		return nil, err
	}
	counts := make(map[Leak]int)
	for _, s := range samples {
		calls := s.calls
		if i := slices.IndexFunc(calls, func(p *location) bool { return p.begins != beginsNone }); i >= 0 {
			calls = calls[:i]
		}
		counts[Leak{Task: s.labels[scope.TaskLabel], Wait: waitOf(calls)}] += int(s.count)
	}
	var leaks []Leak
	for l, count := range counts {
		l.Count = count
		leaks = append(leaks, l)
	}
	slices.SortFunc(leaks, func(a, b Leak) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.Task, b.Task), strings.Compare(a.Wait.String(), b.Wait.String()))
	})
	return leaks, nil
}

// checkUnreachable reports the content of the leak profile, if enabled, at the places where the goroutines wait.
func (w *watch) checkUnreachable(s *scan) {
	if w.c.LeakProfile <= 0 || s.now.Before(w.profiled) {
		return
	}
	begun := time.Now()
	leaks, err := Leaks()
	if err != nil {
		w.c.Log.Warn("the watch reports no unreachable goroutines", "error", err)
		w.c.LeakProfile = 0
		return
	}
	for _, l := range leaks {
		s.report(Finding{Kind: GoroutineUnreachable, Path: l.Task, Count: l.Count, Wait: l.Wait}, l.Wait.frame())
	}
	now := time.Now()
	w.profiled = now.Add(max(w.c.LeakProfile, maxWatchShare*now.Sub(begun)))
}
