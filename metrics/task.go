package metrics

import (
	"cmp"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/meanwhile-go/meanwhile/inspect"
)

// collectTasks sends how many tasks run, by the first word of the name of their scope: for a job that is its kind. Of more
// than MaxLabels scopes the largest are named.
func collectTasks(ch chan<- prometheus.Metric) {
	sizes := map[string]int{}
	for name, tasks := range inspect.Scopes() {
		word, _, _ := strings.Cut(name, " ")
		sizes[word] += tasks
	}
	for _, s := range largest(sizes) {
		gauge(ch, tasksDesc, float64(s.tasks), s.scope)
	}
}

type size struct {
	scope string
	tasks int
}

// largest returns the MaxLabels largest scopes, and the sum of the rest as other.
func largest(sizes map[string]int) []size {
	all := make([]size, 0, len(sizes))
	rest := size{scope: other}
	for scope, tasks := range sizes {
		if scope == other {
			rest.tasks = tasks
			continue
		}
		all = append(all, size{scope, tasks})
	}
	slices.SortFunc(all, func(a, b size) int { return cmp.Or(b.tasks-a.tasks, cmp.Compare(a.scope, b.scope)) })
	if len(all) > MaxLabels {
		for _, s := range all[MaxLabels:] {
			rest.tasks += s.tasks
		}
		all = all[:MaxLabels]
	}
	if rest.tasks > 0 {
		all = append(all, rest)
	}
	return all
}
