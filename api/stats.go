package api

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// mostMinutes is how many minutes of the past can be shown; stores keep two hours.
const mostMinutes = 120

// A shownStat is what all workers did in a minute with the jobs of a queue and a kind.
type shownStat struct {
	Minute    time.Time `json:"minute"`
	Queue     string    `json:"queue"`
	Kind      string    `json:"kind"`
	Completed int64     `json:"completed"`
	Retried   int64     `json:"retried"`
	Snoozed   int64     `json:"snoozed"`
	Canceled  int64     `json:"canceled"`
	Discarded int64     `json:"discarded"`
	Queued    int64     `json:"queued,omitempty"`
	Running   int64     `json:"running,omitempty"`
	Wait      quantiles `json:"wait"`
	Run       quantiles `json:"run"`
}

// quantiles are durations in seconds.
type quantiles struct {
	N   int64   `json:"n"`
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
}

func quantilesOf(h *job.Histogram) quantiles {
	of := func(p float64) float64 { return h.Quantile(p).Seconds() }
	return quantiles{h.Count(), of(0.5), of(0.95), of(0.99)}
}

// stats shows the statistics of the last minutes.
func (a *API) stats(w http.ResponseWriter, r *http.Request) error {
	query, err := readQuery(r)
	if err != nil {
		return err
	}
	text, err := single(query, "minutes")
	if err == nil {
		err = checkRest(query)
	}
	if err != nil {
		return err
	}
	minutes := 60
	if text != "" {
		if minutes, err = strconv.Atoi(text); err != nil || minutes < 1 || minutes > mostMinutes {
			return refuse(http.StatusUnprocessableEntity, "minutes %.20q: give from 1 to %d", text, mostMinutes)
		}
	}
	since := time.Now().Truncate(time.Minute).Add(-time.Duration(minutes-1) * time.Minute)
	rows, err := a.config.Store.Stats(r.Context(), job.StatsFilter{Since: since})
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, map[string]any{"stats": merged(rows)})
}

// merged adds up the rows of all workers.
func merged(rows []job.Stat) []shownStat {
	type key struct {
		minute      time.Time
		queue, kind string
	}
	sums := map[key]*job.Stat{}
	for i := range rows {
		s := &rows[i]
		k := key{s.Minute.UTC(), s.Queue, s.Kind}
		sum := sums[k]
		if sum == nil {
			sum = &job.Stat{Minute: k.minute, Queue: k.queue, Kind: k.kind}
			sums[k] = sum
		}
		sum.Completed += s.Completed
		sum.Retried += s.Retried
		sum.Snoozed += s.Snoozed
		sum.Canceled += s.Canceled
		sum.Discarded += s.Discarded
		sum.Queued, sum.Running = max(sum.Queued, s.Queued), max(sum.Running, s.Running) // workers see the same jobs
		sum.Wait.Merge(s.Wait)
		sum.Run.Merge(s.Run)
	}
	order := func(a, b *job.Stat) int {
		return cmp.Or(a.Minute.Compare(b.Minute), cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Kind, b.Kind))
	}
	shown := make([]shownStat, 0, len(sums))
	for _, s := range slices.SortedFunc(maps.Values(sums), order) {
		shown = append(shown, shownStat{
			s.Minute, s.Queue, s.Kind, s.Completed, s.Retried, s.Snoozed, s.Canceled, s.Discarded, s.Queued, s.Running,
			quantilesOf(&s.Wait), quantilesOf(&s.Run),
		})
	}
	return shown
}
