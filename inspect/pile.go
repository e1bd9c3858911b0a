package inspect

import "time"

const (
	pileSteps  = 6 // how often tasks are counted per interval
	pileRises  = 3 // the number of steps in a row in which their number has to rise
	pileFactor = 4 // how many times as high as one interval before their number has to be
)

// A pileKey is a place at which tasks wait for one kind of thing.
type pileKey struct {
	reason string
	frame  Frame
}

// A pileCount counts the tasks that have been at a place for a step or longer. oldest is the task that has been there longest.
type pileCount struct {
	count  int
	oldest Finding
}

// piles records how many tasks were at each place, the latest step last.
type piles struct {
	counts  map[pileKey][]int
	counted time.Time
}

// contended has the waits for something that other tasks have, or for a response. At other waits, many tasks are normal: a worker waits for
// work, and a connection for its next request.
var contended = map[string]bool{
	"mutex": true, "rwmutex": true, "once": true, "semaphore": true, "blocking": true, "send": true, "process": true,
	"database pool": true, "HTTP connection pool": true, "system call": true, "C call": true,
}

// contends reports whether w is a wait at which tasks can pile up.
func (w *Wait) contends() bool {
	switch {
	case w.For == "network":
		return w.On != "read" && w.On != "accept" && w.On != ""
	case w.For == "file":
		return w.On == "write"
	}
	return contended[w.For]
}

// countPiled counts a task at its place, if the task has been there for long enough.
func (w *watch) countPiled(s *scan, n *Node) {
	if w.c.PileUp < 0 || !n.Wait.contends() || n.unchanged < w.c.Interval/pileSteps {
		return
	}
	if s.piled == nil {
		s.piled = make(map[pileKey]*pileCount)
	}
	key := pileKey{n.Wait.For, n.Wait.frame()}
	p := s.piled[key]
	if p == nil {
		p = new(pileCount)
		s.piled[key] = p
	}
	p.count++
	if n.unchanged > p.oldest.Elapsed {
		p.oldest = Finding{Kind: TasksPileUp, Path: n.Path, Elapsed: n.unchanged, Wait: n.Wait}
	}
}

// checkPiles compares, once per step, the number of tasks at each place with the steps before.
func (w *watch) checkPiles(s *scan) {
	if w.c.PileUp < 0 || s.now.Sub(w.piles.counted) < w.c.Interval/pileSteps {
		return
	}
	w.piles.counted = s.now
	counts := make(map[pileKey][]int, len(s.piled))
	for key, p := range s.piled {
		before := w.piles.counts[key]
		if before == nil {
			before = make([]int, pileSteps) // no tasks
		}
		steps := append(before[1:len(before):len(before)], p.count)
		counts[key] = steps
		if p.count >= w.c.PileUp && p.count >= pileFactor*before[0] && rising(steps) {
			p.oldest.Count, p.oldest.Before = p.count, before[0]
			s.report(p.oldest, key.frame)
		}
	}
	w.piles.counts = counts
}

// rising reports whether each of the last counts is higher than the one before.
func rising(counts []int) bool {
	last := counts[len(counts)-1-pileRises:]
	for i := range pileRises {
		if last[i+1] <= last[i] {
			return false
		}
	}
	return true
}
