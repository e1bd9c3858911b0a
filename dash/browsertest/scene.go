// Package browsertest opens the dashboard in a real browser: its tests use every page and every action, on SQLite and PostgreSQL,
// and its program shots takes the screenshots of the guide.
package browsertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/retry"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/job"
)

// Mail, Picture and Feed are the args of the kinds of a scene.
type (
	Mail struct {
		User     int    `json:"user"`
		Template string `json:"template"`
		Token    string `json:"token"`
	}
	Picture struct {
		URL   string   `json:"url"`
		Sizes []string `json:"sizes"`
	}
	Feed struct {
		Shop  string   `json:"shop"`
		Pages int      `json:"pages"`
		Hosts []string `json:"hosts"`
	}
)

// The kinds of a scene.
var (
	SendMail = job.Define[Mail]("mail.send", job.Queue("mail"), job.MaxAttempts(8))
	Resize   = job.Define[Picture]("picture.resize", job.Queue("pictures"))
	Import   = job.Define[Feed]("feed.import", job.Queue("feeds"), job.MaxAttempts(3))
	Report   = job.Define[struct{}]("report.daily")
)

// A Scene is a store with jobs in all states, and the worker that runs them.
type Scene struct {
	Store  job.Store
	Import job.ID // a job that runs until the scene ends, with waiting tasks
	Failed job.ID // a job that has failed several times
}

// Play enqueues jobs of all sorts, runs a worker for them until ctx is canceled, and calls ready when each of them is in its intended state.
func Play(ctx context.Context, store job.Store, ready func(Scene) error) error {
	s := Scene{Store: store}
	// No cron ticks while the scene is played, since a tick adds a row to a page. The next one is minutes away, and pages count down to it.
	now := time.Now().UTC()
	return meanwhile.Run(ctx, func(ctx context.Context) error {
		worker := job.NewWorker(store, job.Config{
			Name:   "shop-1",
			Queues: []job.QueueConfig{{Name: "mail"}, {Name: "pictures"}, {Name: "feeds", Concurrency: 4}, {Name: job.DefaultQueue}},
			Crons: []job.Cron{
				{Name: "report", Spec: fmt.Sprintf("30 %d * * mon-fri", now.Add(6*time.Hour).Hour()), Job: Report.Maker(struct{}{})},
				{Name: "sweep", Spec: fmt.Sprintf("%d * * * *", now.Add(30*time.Minute).Minute()), Job: Report.Maker(struct{}{})},
			},
			Concurrency: 50, Grace: -1, Logger: slog.New(slog.DiscardHandler),
		}, s.handlers()...)
		inspect.Watch(ctx, inspect.WatchConfig{Log: slog.New(slog.DiscardHandler)}) // so that the worker reports waits
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		working := meanwhile.Go(ctx, worker.Run, meanwhile.Name("worker"))
		if err := s.fill(ctx); err != nil {
			return err
		}
		if err := ready(s); err != nil {
			return err
		}
		stop()
		_, err := working.Wait(context.WithoutCancel(ctx))
		return err
	})
}

var errRelay = errors.New("relay smtp.example.net refused the mail: 451 4.3.0 try again later (token=sk-3f9a77)")

func (s *Scene) handlers() []job.Handler {
	logger := slog.New(job.LogHandler(slog.NewTextHandler(io.Discard, nil)))
	return []job.Handler{
		SendMail.Handle(func(ctx context.Context, m Mail) error {
			switch {
			case m.User%25 == 7:
				return retry.Permanent(fmt.Errorf("user %d has no address", m.User))
			case m.Template == "news":
				return errRelay
			}
			return meanwhile.Sleep(ctx, time.Duration(rand.IntN(30))*time.Millisecond)
		}),
		Resize.Handle(func(ctx context.Context, p Picture) error {
			if p.URL == "" {
				panic("no picture")
			}
			return meanwhile.Sleep(ctx, time.Duration(rand.IntN(200))*time.Millisecond)
		}),
		Import.Handle(func(ctx context.Context, f Feed) error {
			logger.InfoContext(ctx, "the feed is open", "shop", f.Shop, "pages", f.Pages)
			logger.WarnContext(ctx, "a host answers slowly", "host", f.Hosts[0], "took", "2.1s")
			return importFeed(ctx, f)
		}),
		Report.Handle(func(context.Context, struct{}) error { return nil }),
	}
}

// importFeed waits in several ways until it is canceled.
func importFeed(ctx context.Context, f Feed) error {
	pages := make(chan int)
	turns := meanwhile.NewSemaphore(1)
	for n, host := range f.Hosts {
		meanwhile.Go(ctx, func(ctx context.Context) error {
			for i := range 3 + 3*n {
				meanwhile.Go(ctx, func(ctx context.Context) error {
					if err := turns.Acquire(ctx, 1); err != nil {
						return err
					}
					defer turns.Release(1)
					select {
					case <-pages:
					case <-ctx.Done():
					}
					return context.Cause(ctx)
				}, meanwhile.Name(fmt.Sprintf("page %d", i+1)))
			}
			return nil
		}, meanwhile.Name(host))
	}
	return meanwhile.Run(ctx, func(ctx context.Context) error {
		for done := int64(1); ; done++ {
			job.Progress(ctx, min(done, int64(f.Pages)-1), int64(f.Pages))
			if err := meanwhile.Sleep(ctx, time.Second); err != nil {
				return err
			}
		}
	}, meanwhile.Name("progress"))
}

// fill enqueues the jobs, and waits until they are in their intended states and their worker has reported them.
func (s *Scene) fill(ctx context.Context) error {
	var jobs []*job.Job
	add := func(j *job.Job, err error) *job.Job {
		if err != nil {
			panic(err) // the args are valid
		}
		jobs = append(jobs, j)
		return j
	}
	for i := range 120 {
		add(SendMail.New(Mail{User: i, Template: "welcome", Token: "sk-secret"}))
		add(Resize.New(Picture{URL: fmt.Sprintf("https://pictures.example.org/%d.jpg", i), Sizes: []string{"320", "1280"}}))
	}
	for i := range 6 {
		add(SendMail.New(Mail{User: 200 + i, Template: "news", Token: "sk-secret"}))
	}
	add(Resize.New(Picture{}, job.MaxAttempts(1)))
	for i := range 8 {
		add(SendMail.New(Mail{User: 300 + i, Template: "reminder"}, job.In(time.Duration(i+1)*time.Hour)))
	}
	s.Failed = add(SendMail.New(Mail{User: 400, Template: "news", Token: "sk-secret"}, job.Priority(9))).ID
	for i := range 5 {
		add(job.New("invoice.print", fmt.Appendf(nil, `{"invoice": %d}`, 77+i), job.Queue("print"), job.LimitKey("shop-"+[]string{"books", "toys"}[i%2])))
	}
	s.Import = add(Import.New(Feed{Shop: "books", Pages: 240, Hosts: []string{"eu.example.com", "us.example.com"}}, job.Priority(9))).ID
	if _, err := job.Insert(ctx, s.Store, jobs...); err != nil {
		return err
	}
	for settled := false; !settled; {
		if err := meanwhile.Sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
		found, err := s.Store.List(ctx, job.Filter{Limit: len(jobs) + 10})
		if err != nil {
			return err
		}
		stats, err := s.Store.Stats(ctx, job.StatsFilter{})
		if err != nil {
			return err
		}
		var attempts, counted int64
		for _, stat := range stats {
			counted += stat.Completed + stat.Retried + stat.Snoozed + stat.Canceled + stat.Discarded
		}
		for _, j := range found {
			if j.State != job.Running {
				attempts += int64(j.Used())
			}
		}
		settled = counted >= attempts
		for _, j := range found {
			view := j.View(time.Now())
			settled = settled && (view != job.Queued || j.Queue == "print") && (view != job.Running || j.ID == s.Import) &&
				(j.ID != s.Failed || j.Used() >= 3) && (j.ID != s.Import || j.Progress != nil && len(j.Records) > 0)
		}
	}
	return nil
}
