package jobtest

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

var statsPromises = []promise{
	{"renew returns the time of the store", func(f *fixture) {
		before := f.renew("w", long).Now
		f.near("the time", before, f.read(f.insertNew().ID).Created)
		time.Sleep(pause)
		if after := f.renew("w", long).Now; !after.After(before) {
			f.Errorf("the time is %v, and was %v", after, before)
		}
	}},
	{"stats are read as they were reported, the oldest first", func(f *fixture) {
		f.wantStats(time.Time{})
		minute := f.minute()
		rows := []job.Stat{
			f.stat(minute.Add(-2*time.Minute), "b", "default", "k", 1),
			f.stat(minute.Add(-time.Minute), "a", "default", "k", 2),
			f.stat(minute.Add(-time.Minute), "b", "default", "", 3),
			f.stat(minute.Add(-time.Minute), "b", "default", "k", 4),
			f.stat(minute.Add(-time.Minute), "b", "mail", "k", 5),
			f.stat(minute, "a", "default", "k", 6),
		}
		f.tellStats("b", workerInfo.Started, rows[3], rows[4])
		f.tellStats("a", workerInfo.Started, rows[5], rows[1])
		f.tellStats("b", workerInfo.Started, rows[2], rows[0])
		f.wantStats(time.Time{}, rows...)
		f.wantStats(minute.Add(-time.Minute), rows[1:]...)
		f.wantStats(minute.Add(-time.Minute+time.Millisecond), rows[5])
		f.wantStats(minute.Add(time.Minute))
	}},
	{"stats are read of one queue, of one kind, or of both", func(f *fixture) {
		minute := f.minute()
		span := minute.Add(-5 * time.Hour).Truncate(job.StatsSpan)
		old := f.stat(span, "a", "mail", "k", 1)
		f.tellStats("a", workerInfo.Started, f.stat(span, "a", "default", "k", 2), old)
		f.pruneStats()
		rows := []job.Stat{
			f.stat(minute.Add(-time.Minute), "a", "mail", "k", 3),
			f.stat(minute, "a", "default", "k", 4),
			f.stat(minute, "a", "mail", "", 5),
			f.stat(minute, "a", "mail", "k", 6),
			f.stat(minute, "a", "mail", "other", 7),
		}
		f.tellStats("a", workerInfo.Started, rows...)
		f.wantStatsOf(job.StatsFilter{Queue: "mail"}, append(job.MergeStats(old), rows[0], rows[2], rows[3], rows[4])...)
		f.wantStatsOf(job.StatsFilter{Queue: "mail", Kind: "k"}, append(job.MergeStats(old), rows[0], rows[3])...)
		f.wantStatsOf(job.StatsFilter{Kind: "k", Since: minute}, rows[1], rows[3])
		f.wantStatsOf(job.StatsFilter{Queue: "none"})
		f.wantStatsOf(job.StatsFilter{Kind: "mail"})
	}},
	{"a row that is reported again counts once, and never less", func(f *fixture) {
		minute := f.minute()
		first, more := f.stat(minute, "w", "default", "k", 1), f.stat(minute, "w", "default", "k", 2)
		for range 2 {
			f.tellStats("w", workerInfo.Started, first)
		}
		f.wantStats(minute, first)
		f.tellStats("w", workerInfo.Started, more)
		f.wantStats(minute, more)
		f.tellStats("w", workerInfo.Started, first)
		f.wantStats(minute, more)
	}},
	{"two runs of a worker of one name both count", func(f *fixture) {
		minute := f.minute()
		row := f.stat(minute, "w", "default", "k", 1)
		f.tellStats("w", workerInfo.Started, row)
		f.tellStats("w", workerInfo.Started.Add(time.Second), row)
		f.wantStats(minute, row, row)
	}},
	{"two servers that count for one worker both count", func(f *fixture) {
		minute := f.minute()
		less, more := f.stat(minute, "w", "default", "k", 1), f.stat(minute, "w", "default", "k", 2)
		f.tellStatsOf(workerInfo.Started, job.Renewal{Worker: "w", Run: workerInfo.Started.Add(time.Second), Stats: []job.Stat{more}})
		for range 2 {
			f.tellStatsOf(workerInfo.Started, job.Renewal{Worker: "w", Run: workerInfo.Started.Add(2 * time.Second), Stats: []job.Stat{less}})
		}
		f.wantSum(minute, less, more)
	}},
	{"stats outlive their worker, and are added up by half hours after two hours", func(f *fixture) {
		minute := f.minute()
		old, kept := f.stat(minute.Add(-122*time.Minute), "w", "default", "k", 1), f.stat(minute.Add(-118*time.Minute), "w", "default", "k", 2)
		f.tellStats("w", workerInfo.Started, old, kept)
		if err := f.Leave(f.ctx, "w", sessionOf("w")); err != nil {
			f.Fatalf("leave: %v", err)
		}
		f.wantStats(time.Time{}, old, kept)
		f.pruneStats()
		f.wantStats(time.Time{}, append(job.MergeStats(old), kept)...)
		f.wantStats(kept.Minute, kept)
	}},
	{"old stats of all workers are one, with those that come late", func(f *fixture) {
		span := f.minute().Add(-5 * time.Hour).Truncate(job.StatsSpan)
		a, b := f.stat(span.Add(2*time.Minute), "a", "default", "k", 1), f.stat(span.Add(3*time.Minute), "b", "default", "k", 2)
		level, other := f.stat(span.Add(3*time.Minute), "b", "default", "", 3), f.stat(span.Add(4*time.Minute), "b", "mail", "k", 4)
		next := f.stat(span.Add(job.StatsSpan), "a", "default", "k", 5)
		f.tellStats("a", workerInfo.Started, a, next)
		f.tellStats("b", workerInfo.Started, b, level, other)
		f.pruneStats()
		f.wantStats(time.Time{}, job.MergeStats(a, b, level, other, next)...)
		late := f.stat(span.Add(5*time.Minute), "a", "default", "k", 6)
		f.tellStats("a", workerInfo.Started, late)
		f.pruneStats()
		f.wantStats(time.Time{}, job.MergeStats(a, b, level, other, late, next)...)
		f.wantStats(span.Add(time.Minute), job.MergeStats(next)...)
	}},
	{"old stats count once when several prune at once", func(f *fixture) {
		span := f.minute().Add(-6 * time.Hour).Truncate(job.StatsSpan)
		var rows []job.Stat
		for i := range 20 { // each is reported after the rows before it were added up
			rows = append(rows, f.stat(span.Add(time.Duration(i)*time.Minute), "w", "default", "k", int64(i+1)))
			f.tellStats("w", workerInfo.Started, rows[i])
			const pruners = 4
			ended := make(chan error, pruners)
			for range pruners {
				f.spawn(func(ctx context.Context) {
					_, err := f.Prune(ctx, nil, 10)
					ended <- err
				})
			}
			for range pruners {
				if err := <-ended; err != nil {
					f.Errorf("prune: %v", err)
				}
			}
		}
		f.wantStats(time.Time{}, job.MergeStats(rows...)...)
	}},
	{"stats that were added up are removed in the end", func(f *fixture) {
		minute := f.minute()
		old, kept := f.stat(minute.Add(-job.StatsPast-time.Hour), "w", "default", "k", 1), f.stat(minute.Add(-job.StatsPast+time.Hour), "w", "default", "k", 2)
		f.tellStats("w", workerInfo.Started, old, kept)
		f.pruneStats()
		f.wantStats(time.Time{}, job.MergeStats(kept)...)
	}},
}

// pruneStats calls Prune several times: one call need not add up all old rows.
func (f *fixture) pruneStats() {
	f.Helper()
	for range 4 {
		f.prune(0, nil, 10)
	}
}

// minute returns the current minute by the store's clock.
func (f *fixture) minute() time.Time { return f.renew("clock", long).Now.Truncate(time.Minute) }

// stat makes a row whose counts all differ, and grow with n.
func (f *fixture) stat(minute time.Time, worker, queue, kind string, n int64) job.Stat {
	s := job.Stat{
		Minute: minute, Worker: worker, Queue: queue, Kind: kind,
		Completed: n, Retried: 10 * n, Snoozed: 100 * n, Canceled: 1000 * n, Discarded: 10000 * n,
	}
	if kind == "" {
		s.Queued, s.Running = 7*n, n
	}
	for i := range n {
		s.Wait.Add(time.Duration(i) * time.Second)
		s.Run.Add(time.Hour)
	}
	return s
}

func (f *fixture) tellStats(worker string, started time.Time, stats ...job.Stat) {
	f.Helper()
	f.tellStatsOf(started, job.Renewal{Worker: worker, Stats: stats})
}

// tellStatsOf reports the Stats of r for a worker that started at the given time.
func (f *fixture) tellStatsOf(started time.Time, r job.Renewal) {
	f.Helper()
	r.Session, r.Lease, r.Info = sessionOf(r.Worker), long, workerInfo
	r.Info.Started = started
	if _, err := f.Renew(f.ctx, r); err != nil {
		f.Fatalf("renew: %v", err)
	}
}

// wantSum is wantStats for rows of one worker, queue and kind, in any order.
func (f *fixture) wantSum(since time.Time, want ...job.Stat) {
	f.Helper()
	got, err := f.Stats(f.ctx, job.StatsFilter{Since: since})
	if err != nil {
		f.Fatalf("stats: %v", err)
	}
	if sum := job.MergeStats(want...); len(got) != len(want) || !slices.Equal(job.MergeStats(got...), sum) {
		f.Errorf("stats since %v:\n%+v\nwant together\n%+v", since, got, sum)
	}
}

// inOrder returns the rows sorted by minute, worker, queue and kind.
func inOrder(rows []job.Stat) []job.Stat {
	return slices.SortedStableFunc(slices.Values(rows), func(a, b job.Stat) int {
		return cmp.Or(a.Minute.Compare(b.Minute), cmp.Compare(a.Worker, b.Worker), cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Kind, b.Kind))
	})
}

func (f *fixture) wantStats(since time.Time, want ...job.Stat) {
	f.Helper()
	f.wantStatsOf(job.StatsFilter{Since: since}, want...)
}

func (f *fixture) wantStatsOf(filter job.StatsFilter, want ...job.Stat) {
	f.Helper()
	got, err := f.Stats(f.ctx, filter)
	if err != nil {
		f.Fatalf("stats: %v", err)
	}
	if !slices.IsSortedFunc(got, func(a, b job.Stat) int { return a.Minute.Compare(b.Minute) }) {
		f.Errorf("stats of %+v are not in the order of their minutes:\n%+v", filter, got)
	}
	got, want = inOrder(got), inOrder(want)
	if !slices.EqualFunc(got, want, func(a, b job.Stat) bool {
		same := a.Minute.Equal(b.Minute)
		a.Minute = b.Minute
		return same && a == b
	}) {
		f.Errorf("stats of %+v:\n%+v\nwant\n%+v", filter, got, want)
	}
}
