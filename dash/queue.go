package dash

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// How many queues are listed on their page and on the overview. If there are more, those with the most unfinished jobs are listed.
const (
	mostQueues       = 500
	mostQueuesBeside = 100
)

// A queueList is the queues that are listed.
type queueList struct {
	Rows []queueRow
	Left int // how many others there are
}

// A queueRow is a queue in the list.
type queueRow struct {
	job.QueueInfo
	Discarded int64
	Workers   int           // workers that work on it
	Rate      int64         // completed per minute
	P50, P99  time.Duration // of the waits of jobs that started recently
	Waits     bool
}

// Idle reports whether it has no unfinished jobs.
func (q queueRow) Idle() bool { return q.Queued+q.Running == 0 && !q.Paused }

// Long reports whether its jobs have been waiting for a long time.
func (q queueRow) Long() bool { return q.Wait > longWait && !q.Paused }

func (h *handler) queues(ctx context.Context, _ *view) (*page, error) {
	rows, err := h.queueRows(ctx)
	return &page{Title: "Queues", Section: "queues", Data: listQueues(rows, mostQueues)}, err
}

// listQueues lists queues by name, at most most of them: those with the most unfinished jobs, and then paused ones.
func listQueues(rows []queueRow, most int) queueList {
	if len(rows) <= most {
		return queueList{Rows: rows}
	}
	paused := func(q queueRow) int {
		if q.Paused {
			return 1
		}
		return 0
	}
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b queueRow) int {
		return cmp.Or(cmp.Compare(b.Queued+b.Running, a.Queued+a.Running), paused(b)-paused(a))
	})
	shown := rows[:most]
	slices.SortFunc(shown, func(a, b queueRow) int { return strings.Compare(a.Name, b.Name) })
	return queueList{shown, len(rows) - most}
}

func (h *handler) queueRows(ctx context.Context) ([]queueRow, error) {
	if err := beside(ctx, h.cache.past.fill, h.cache.counts.fill, h.cache.queues.fill, h.cache.workers.fill); err != nil {
		return nil, err
	}
	queues, err := h.allQueues(ctx)
	if err != nil {
		return nil, err
	}
	counts, err := h.cache.counts.get(ctx)
	if err != nil {
		return nil, err
	}
	workers, err := h.workerRows(ctx)
	if err != nil {
		return nil, err
	}
	past, err := h.cache.past.get(ctx)
	if err != nil {
		return nil, err
	}
	discarded, working := map[string]int64{}, map[string]int{} // by queue
	for _, c := range counts {
		if c.State == job.Discarded {
			discarded[c.Queue] += c.N
		}
	}
	for _, w := range workers {
		if w.Gone {
			continue
		}
		for _, queue := range distinct(slices.Clone(w.Queues)) {
			working[queue]++
		}
	}
	rows := make([]queueRow, len(queues))
	for i, q := range queues {
		recent := past.recent(subject{queue: q.Name})
		rows[i].Rate = (recent.Completed + 2) / 5
		rows[i].P50, rows[i].P99, rows[i].Waits = recent.Wait.Quantile(.5), recent.Wait.Quantile(.99), recent.Wait.Count() > 0
		rows[i].QueueInfo, rows[i].Discarded, rows[i].Workers = q, discarded[q.Name], working[q.Name]
	}
	return rows, nil
}

// allQueues returns all queues by name, including idle ones.
func (h *handler) allQueues(ctx context.Context) ([]job.QueueInfo, error) {
	queues, err := h.cache.queues.get(ctx)
	if err != nil {
		return nil, err
	}
	counts, err := h.cache.counts.get(ctx)
	if err != nil {
		return nil, err
	}
	workers, err := h.cache.workers.get(ctx)
	if err != nil {
		return nil, err
	}
	return withIdle(queues, counts, workers), nil
}

// withIdle adds the queues that have no unfinished jobs: queues of workers and of finished jobs.
func withIdle(queues []job.QueueInfo, counts []job.Count, workers []job.WorkerInfo) []job.QueueInfo {
	known := map[string]bool{}
	for _, q := range queues {
		known[q.Name] = true
	}
	all := slices.Clone(queues) // others share the slice
	add := func(name string) {
		if !known[name] {
			known[name] = true
			all = append(all, job.QueueInfo{Name: name})
		}
	}
	for _, c := range counts {
		add(c.Queue)
	}
	for _, w := range workers {
		for _, name := range w.Queues {
			add(name)
		}
	}
	slices.SortFunc(all, func(a, b job.QueueInfo) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func (h *handler) queueAction(ctx context.Context, r *http.Request, done *job.AuditEntry) (string, error) {
	name := r.PostForm.Get("queue")
	h.cache.forget()
	rows, err := h.queueRows(ctx)
	if err != nil {
		return "", err
	}
	// A queue is paused by name, so a misspelled name would create a queue.
	if !slices.ContainsFunc(rows, func(q queueRow) bool { return q.Name == name }) {
		return "", refuse(http.StatusNotFound, "There is no queue %.130q.", name)
	}
	action := r.PostForm.Get("action")
	*done = job.AuditEntry{Action: action + " queue", Target: name, Changed: 1}
	queue := pausable{
		paused: func(ctx context.Context) (bool, error) {
			queues, err := h.Store.Queues(ctx)
			return slices.ContainsFunc(queues, func(q job.QueueInfo) bool { return q.Name == name && q.Paused }), err
		},
		pause: func(ctx context.Context, paused bool) error { return h.Store.Pause(ctx, name, paused) },
	}
	switch action {
	case "pause":
		return h.pause(ctx, r, *done, queue, true, "/queues?did-text=paused")
	case "resume":
		return h.pause(ctx, r, *done, queue, false, "/queues?did-text=resumed")
	case "remove-limits":
		return h.removeLimits(ctx, r, name, done)
	}
	return "", refuse(http.StatusBadRequest, "%.40q is not an action on queues.", action)
}
