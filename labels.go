package meanwhile

import (
	"runtime/pprof"
	"strconv"
	"sync/atomic"
)

// The profiler labels of a task's goroutine, which those that it starts with a plain go statement inherit.
const (
	taskLabel   = "task"    // its path
	taskIDLabel = "task_id" // its number in the process
)

// labeling is how many watches run: tasks that start meanwhile label their goroutines.
var labeling atomic.Int32

// labelKey is the private key by which runtime/pprof asks a context for its labels; see causeKey.
var labelKey = func() any {
	var p keyProbe
	_, _ = pprof.Label(&p, "")
	return p.key
}()

// labelGoroutine labels the goroutine that runs n, if anybody wants that.
func (n *node) labelGoroutine() {
	if labeling.Load() > 0 {
		n.labelNow()
	}
}

//go:noinline
func (n *node) labelNow() {
	n.mu.Lock()
	r := n.moreLocked()
	if r.labels == nil { // the goroutines of a stream share them
		id := strconv.FormatUint(uint64(n.mark.id()), 10)
		r.labels = pprof.WithLabels(n.base, pprof.Labels(taskLabel, n.path(), taskIDLabel, id))
		n.flags.Or(isLabeled)
	}
	labels := r.labels
	n.mu.Unlock()
	pprof.SetGoroutineLabels(labels)
}

// unlabelGoroutine gives the goroutine of a scope the labels back that it had outside, as pprof.Do does.
func (n *node) unlabelGoroutine() {
	if n.is(isLabeled) {
		pprof.SetGoroutineLabels(n.base)
	}
}

// labels answers runtime/pprof, so that pprof.Do in a task adds to the task's labels and gives them back.
func (n *node) labels() any {
	for {
		if n.is(isLabeled) {
			return n.rare.labels.Value(labelKey)
		}
		base, ok := n.base.(*node)
		if !ok {
			return n.base.Value(labelKey)
		}
		n = base
	}
}
