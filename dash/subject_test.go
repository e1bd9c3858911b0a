package dash_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// report reports statistics of the last minutes as a worker does.
func report(t *testing.T, s job.Store, info job.WorkerInfo, stats ...job.Stat) {
	t.Helper()
	_, err := s.Renew(t.Context(), job.Renewal{Worker: info.Name, Session: job.NewSession(), Lease: time.Minute, Info: info, Stats: stats})
	if err != nil {
		t.Fatal(err)
	}
}

func TestQueuePage(t *testing.T) {
	s := memory.New()
	enqueue(t, s, "mail.send", `{}`, 40, job.Queue("mail"))
	enqueue(t, s, "mail.bounce", `{}`, 2, job.Queue("mail"))
	enqueue(t, s, "other", `{}`, 1)
	limits := job.Limits{
		Running: 1, Starts: job.Rate{N: 90, Per: time.Minute, Burst: 5}, Units: job.Rate{N: 500, Per: time.Hour},
		EachKey: job.KeyLimits{Running: 3, Units: job.Rate{N: 40, Per: time.Second}, Weight: 2},
	}
	if err := s.SetLimits(t.Context(), "mail", limits); err != nil {
		t.Fatal(err)
	}
	settle(t, s, "mail", func(j *job.Job) { j.State = job.Completed })
	if _, err := s.Claim(t.Context(), job.Claim{Worker: "shop-1", Session: 2, Queues: []job.QueueLimit{{Queue: "mail", Limit: 1}}, Limit: 1, Lease: time.Minute}); err != nil {
		t.Fatal(err)
	}
	report(t, s, job.WorkerInfo{Name: "shop-1", Queues: []string{"mail"}, Kinds: []string{"mail.send"}, Concurrency: 7},
		job.Stat{Minute: time.Now().Add(-2 * time.Minute).Truncate(time.Minute), Queue: "mail", Kind: "mail.send", Completed: 50, Retried: 10, Queued: 41})
	report(t, s, job.WorkerInfo{Name: "elsewhere", Queues: []string{"other"}, Kinds: []string{"other"}})

	h := dash.New(dash.Config{Store: s})
	has(t, get(t, h, "/queue?name=mail"), http.StatusOK,
		"<h1>Queue mail</h1>", `name=mail.send">mail.send</a>`, "mail.bounce", "not >other<", "shop-1", "not elsewhere",
		"1 of 1 that may run at once", "90 per minute, 5 at once may start", "3 of each limit key may run at once",
		"units: 500 per hour", "not the next job starts", "units of each limit key: 40 per second", "2 of each limit key start each time it is its turn", "not limits of their own",
		"empty in 4 min at this rate, if none are added", // 40 jobs at 10 per minute
		`10<span class="of">/60</span>`, "up to 50", "Pause")
	has(t, get(t, h, "/kind?name=mail.send"), http.StatusOK, "<h1>Kind mail.send</h1>", `name=mail">mail</a>`, "shop-1", "not elsewhere", `/failures?kind=mail.send"`, "not that may run at once")
	has(t, get(t, h, "/queues"), http.StatusOK, `"/queue?name=mail"`)
	for _, path := range []string{"/queue?name=nothing", "/kind?name=nothing", "/queue", "/kind"} {
		has(t, get(t, h, path), http.StatusNotFound, "with jobs or workers")
	}
}

// TestQueuePageSaysWhy: the page of a queue shows why its newest due job does not run, and ignores jobs that are scheduled for later.
func TestQueuePageSaysWhy(t *testing.T) {
	s := memory.New()
	due := enqueue(t, s, "mail.send", `{}`, 1, job.Queue("mail"))[0]
	enqueue(t, s, "mail.send", `{}`, 3, job.Queue("mail"), job.In(time.Hour))
	time.Sleep(2 * time.Millisecond) // so that it has been due for a while
	h := dash.New(dash.Config{Store: s, ReadOnly: func(*http.Request) bool { return true }})
	has(t, get(t, h, "/queue?name=mail"), http.StatusOK, "Waits because", "no worker claims jobs of queue mail", "</a>, none was completed in the last five minutes", "/jobs/"+due.ID.String(), "not >Pause<")
	scheduled := memory.New()
	enqueue(t, scheduled, "mail.send", `{}`, 3, job.Queue("mail"), job.In(time.Hour))
	has(t, get(t, dash.New(dash.Config{Store: scheduled}), "/queue?name=mail"), http.StatusOK, "not Waits because", "No worker claims its jobs.")
}
