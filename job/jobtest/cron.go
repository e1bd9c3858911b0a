package jobtest

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
)

var cronPromises = []promise{
	{"a tick enqueues a job and notes itself", func(f *fixture) {
		j := f.job(job.Queue(job.DefaultQueue), job.Priority(7))
		f.tick(true, job.Tick{Cron: "c", Spec: "0 * * * * Europe/Berlin", At: cronTime(0), Next: cronTime(1), Job: j})
		c := f.cron("c")
		f.near("noted", c.Noted, f.now())
		if c.Spec != "0 * * * * Europe/Berlin" || !c.Last.Equal(cronTime(0)) || !c.Next.Equal(cronTime(1)) || c.Job != j.ID || c.Paused {
			f.Errorf("cron is %+v", c)
		}
		f.due(j)
	}},
	{"a tick counts once", func(f *fixture) {
		first := f.job()
		f.tick(true, job.Tick{Cron: "c", Spec: "s", At: cronTime(1), Next: cronTime(2), Job: first})
		for _, at := range []time.Time{cronTime(1), cronTime(0)} {
			f.tick(false, job.Tick{Cron: "c", Spec: "s", At: at, Next: cronTime(2), Job: f.job()})
		}
		if c := f.cron("c"); !c.Last.Equal(cronTime(1)) || c.Job != first.ID {
			f.Errorf("cron is %+v", c)
		}
		second := f.job()
		f.tick(true, job.Tick{Cron: "c", Spec: "s2", At: cronTime(2), Next: cronTime(3), Job: second})
		if c := f.cron("c"); !c.Last.Equal(cronTime(2)) || !c.Next.Equal(cronTime(3)) || c.Job != second.ID || c.Spec != "s2" {
			f.Errorf("cron is %+v", c)
		}
		f.due(first, second)
	}},
	{"crons do not get in each other's way", func(f *fixture) {
		a, b := f.job(), f.job()
		f.tick(true, job.Tick{Cron: "b", Spec: "s", At: cronTime(1), Next: cronTime(2), Job: b})
		f.tick(true, job.Tick{Cron: "a", Spec: "s", At: cronTime(0), Next: cronTime(1), Job: a})
		crons := f.crons()
		if len(crons) != 2 || crons[0].Name != "a" || crons[0].Job != a.ID || crons[1].Name != "b" || crons[1].Job != b.ID {
			f.Errorf("crons are %+v, want a and b", crons)
		}
	}},
	{"a tick with a job has a time", func(f *fixture) {
		for range 2 {
			if done, err := f.Tick(f.ctx, job.Tick{Cron: "c", Spec: "s", Next: cronTime(1), Job: f.job()}); err == nil {
				f.Errorf("the tick returned %v, and no error", done)
			}
		}
		f.due()
	}},
	{"a tick without a job notes the cron", func(f *fixture) {
		f.tick(false, job.Tick{Cron: "c", Spec: "s", Next: cronTime(1)})
		c := f.cron("c")
		f.near("last", c.Last, f.now())
		f.near("noted", c.Noted, f.now())
		if c.Spec != "s" || !c.Next.Equal(cronTime(1)) || c.Job != (job.ID{}) {
			f.Errorf("cron is %+v", c)
		}
		f.tick(false, job.Tick{Cron: "c", Spec: "s2", Next: cronTime(2), At: cronTime(0)})
		again := f.cron("c")
		if again.Spec != "s2" || !again.Next.Equal(cronTime(2)) || !again.Last.Equal(c.Last) || again.Noted.Before(c.Noted) {
			f.Errorf("cron is %+v, noted before as %+v", again, c)
		}
		f.tick(false, job.Tick{Cron: "d", Spec: "s", At: cronTime(0), Next: cronTime(1)})
		if d := f.cron("d"); !d.Last.Equal(cronTime(0)) {
			f.Errorf("cron is %+v, want the last at %v", d, cronTime(0))
		}
		f.due()
	}},
	{"a cron that was noted ticks later", func(f *fixture) {
		f.tick(false, job.Tick{Cron: "c", Spec: "s", At: cronTime(0), Next: cronTime(1)})
		f.tick(false, job.Tick{Cron: "c", Spec: "s", At: cronTime(0), Next: cronTime(1), Job: f.job()})
		j := f.job()
		f.tick(true, job.Tick{Cron: "c", Spec: "s", At: cronTime(1), Next: cronTime(2), Job: j})
		f.due(j)
	}},
	{"a paused cron does not tick", func(f *fixture) {
		if err := f.PauseCron(f.ctx, "c", true); err == nil {
			f.Error("pause of a cron that was never noted returned no error")
		}
		at := f.hours()
		f.tick(false, job.Tick{Cron: "c", Spec: "s", At: at(-2), Next: at(-1)})
		f.pauseCron("c", true)
		f.tick(false, job.Tick{Cron: "c", Spec: "s", At: at(-1), Next: at(0), Job: f.job()})
		if c := f.cron("c"); !c.Paused || !c.Last.Equal(at(-2)) || c.Job != (job.ID{}) {
			f.Errorf("cron is %+v", c)
		}
		f.tick(false, job.Tick{Cron: "c", Spec: "s", Next: at(0)})
		if !f.cron("c").Paused {
			f.Error("noting a paused cron resumed it")
		}
		f.pauseCron("c", false)
		j := f.job()
		f.tick(true, job.Tick{Cron: "c", Spec: "s", At: at(1), Next: at(2), Job: j}) // from a worker whose clock is ahead
		if f.cron("c").Paused {
			f.Error("the cron is still paused")
		}
		f.due(j)
	}},
	{"a cron that is resumed has no ticks of its pause", func(f *fixture) {
		at := f.hours()
		first := f.job()
		f.tick(true, job.Tick{Cron: "c", Spec: "s", At: at(-3), Next: at(-2), Job: first})
		f.pauseCron("c", false) // the cron is not paused
		if c := f.cron("c"); !c.Last.Equal(at(-3)) {
			f.Errorf("cron is %+v, want the last tick at %v", c, at(-3))
		}
		f.pauseCron("c", true)
		f.pauseCron("c", true)
		f.pauseCron("c", false)
		c := f.cron("c")
		f.near("last", c.Last, f.now())
		if c.Paused || c.Job != first.ID {
			f.Errorf("cron is %+v, want the job of its last tick, %v", c, first.ID)
		}
		f.tick(false, job.Tick{Cron: "c", Spec: "s", At: at(-2), Next: at(-1), Job: f.job()})
		f.tick(false, job.Tick{Cron: "c", Spec: "s", At: at(-1), Next: at(1), Job: f.job()})
		j := f.job()
		f.tick(true, job.Tick{Cron: "c", Spec: "s", At: at(1), Next: at(2), Job: j}) // from a worker whose clock is ahead
		f.pauseCron("c", true)
		f.pauseCron("c", false)
		if c := f.cron("c"); !c.Last.Equal(at(1)) || c.Job != j.ID {
			f.Errorf("cron is %+v, want the last tick at %v", c, at(1))
		}
		f.due(first, j)
	}},
	{"a tick whose unique key is held counts, and has the job that holds it", func(f *fixture) {
		holder := f.insertNew(job.Unique("a"))
		j := f.job(job.Unique("a"))
		f.tick(true, job.Tick{Cron: "c", Spec: "s", At: cronTime(0), Next: cronTime(1), Job: j})
		if c := f.cron("c"); !c.Last.Equal(cronTime(0)) || c.Job != holder.ID {
			f.Errorf("cron is %+v, want the job %v", c, holder.ID)
		}
		f.due(holder)
	}},
	{"a tick keeps the job's own time", func(f *fixture) {
		j := f.job(job.In(time.Hour))
		f.tick(true, job.Tick{Cron: "c", Spec: "s", At: cronTime(0), Next: cronTime(1), Job: j})
		f.near("due", f.read(j.ID).RunAt, f.now().Add(time.Hour))
	}},
	{"a tick wakes those that wait", func(f *fixture) {
		f.wakes(func() {
			f.tick(true, job.Tick{Cron: "c", Spec: "s", At: cronTime(0), Next: cronTime(1), Job: f.job()})
		})
	}},
	{"of ticks at once one counts", func(f *fixture) {
		var done [3]atomic.Int64
		err := meanwhile.Run(f.ctx, func(ctx context.Context) error {
			for range 8 {
				meanwhile.Go(ctx, func(ctx context.Context) error {
					for i := range done {
						ok, err := f.Tick(ctx, job.Tick{Cron: "c", Spec: "s", At: cronTime(i), Next: cronTime(i + 1), Job: f.job()})
						if err != nil {
							return err
						}
						if ok {
							done[i].Add(1)
						}
					}
					return nil
				})
			}
			return nil
		})
		if err != nil {
			f.Fatal(err)
		}
		if done[len(done)-1].Load() != 1 {
			f.Errorf("the last tick was done %d times", done[len(done)-1].Load())
		}
		total := 0
		for i := range done {
			n := int(done[i].Load())
			if n > 1 {
				f.Errorf("tick %d was done %d times", i, n)
			}
			total += n
		}
		if n := len(f.list(job.Filter{})); n != total {
			f.Errorf("%d ticks made %d jobs", total, n)
		}
	}},
}

// cronTime returns the i-th time of a cron.
func cronTime(i int) time.Time { return time.Date(2026, 10, 25, i, 0, 0, 0, time.UTC) }

// hours returns a function that returns the time n hours from now.
func (f *fixture) hours() func(n int) time.Time {
	now := f.now().Truncate(time.Microsecond)
	return func(n int) time.Time { return now.Add(time.Duration(n) * time.Hour) }
}

func (f *fixture) tick(want bool, t job.Tick) {
	f.Helper()
	got, err := f.Tick(f.ctx, t)
	if err != nil {
		f.Fatalf("tick: %v", err)
	}
	if got != want {
		f.Errorf("tick of %s at %v returned %v, want %v", t.Cron, t.At, got, want)
	}
	if t.Job != nil && !got && f.exists(t.Job.ID) {
		f.Errorf("the job of the tick at %v is stored, although the tick did not count", t.At)
	}
}

func (f *fixture) pauseCron(name string, paused bool) {
	f.Helper()
	if err := f.PauseCron(f.ctx, name, paused); err != nil {
		f.Fatalf("pause cron: %v", err)
	}
}

func (f *fixture) crons() []job.CronInfo {
	f.Helper()
	crons, err := f.Crons(f.ctx)
	if err != nil {
		f.Fatalf("crons: %v", err)
	}
	return crons
}

func (f *fixture) cron(name string) job.CronInfo {
	f.Helper()
	for _, c := range f.crons() {
		if c.Name == name {
			return c
		}
	}
	f.Fatalf("no cron %s", name)
	return job.CronInfo{}
}
