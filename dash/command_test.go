package dash_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// renew renews a worker as it does at regular intervals.
func renew(t *testing.T, s job.Store, worker string, change func(*job.Renewal)) job.Renewed {
	t.Helper()
	r := job.Renewal{Worker: worker, Session: 1, Lease: time.Minute, Info: job.WorkerInfo{Queues: []string{job.DefaultQueue}, Concurrency: 5, Started: time.Now()}}
	if change != nil {
		change(&r)
	}
	renewed, err := s.Renew(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return renewed
}

func TestOrders(t *testing.T) {
	s := memory.New()
	h := dash.New(dash.Config{Store: s})
	if _, err := s.Tick(t.Context(), job.Tick{Cron: "nightly", Spec: "@daily", Next: time.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	renew(t, s, "w", func(r *job.Renewal) { r.Info.Crons = []string{"nightly"} })
	has(t, get(t, h, "/workers/action?action=stop&worker=w"), http.StatusOK, "Stop worker w?")
	for _, step := range []struct {
		path, reported string
		fields         []string
		want           job.Command
	}{
		{"/workers", "will claim no more jobs", []string{"action", "quiet", "worker", "w"}, job.Command{Do: job.CommandQuiet}},
		{"/workers", "will claim jobs again", []string{"action", "resume", "worker", "w"}, job.Command{Do: job.CommandResume}},
		{"/workers", "will stop", []string{"action", "stop", "worker", "w"}, job.Command{Do: job.CommandStop}},
		{"/crons", "will run it now", []string{"action", "run", "cron", "nightly"}, job.Command{Do: job.CommandTick, Cron: "nightly"}},
	} {
		w := post(t, h, step.path, step.fields...)
		has(t, get(t, h, w.Header().Get("Location")), http.StatusOK, step.reported)
		commands := renew(t, s, "w", func(r *job.Renewal) { r.Info.Crons = []string{"nightly"} }).Commands
		if len(commands) != 1 || commands[0] != step.want {
			t.Errorf("%v leaves %+v, want %+v", step.fields, commands, step.want)
		}
	}
	has(t, post(t, h, "/workers", "action", "quiet", "worker", "nobody"), http.StatusNotFound, "There is no worker &#34;nobody&#34; any more")
	has(t, post(t, h, "/workers", "action", "burn", "worker", "w"), http.StatusBadRequest, "is not an action on workers")
	has(t, get(t, h, "/workers/action?action=burn&worker=w"), http.StatusBadRequest, "is not an action on workers")
	has(t, post(t, h, "/crons", "action", "burn", "cron", "nightly"), http.StatusBadRequest, "is not an action on crons")
	renew(t, s, "w", nil) // without the cron
	has(t, post(t, h, "/crons", "action", "run", "cron", "nightly"), http.StatusConflict, "No worker that runs has cron &#34;nightly&#34;")
	has(t, get(t, h, "/crons"), http.StatusOK, "disabled title=")
}

// reported makes a job run, and reports a task tree as its worker.
func reported(t *testing.T, s job.Store, tree func(j *job.Job) inspect.Node) *job.Job {
	t.Helper()
	enqueue(t, s, "feed.import", `{}`, 1)
	j := settle(t, s, job.DefaultQueue, func(*job.Job) {})
	if _, err := s.Watch(t.Context(), j.ID, time.Minute); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(tree(j))
	if err != nil {
		t.Fatal(err)
	}
	renew(t, s, "w", func(r *job.Renewal) {
		r.Jobs, r.Trees = []job.ID{j.ID}, []job.Tree{{Job: j.ID, Attempt: j.Attempt, JSON: text}}
	})
	return j
}

func shopTree(j *job.Job) inspect.Node {
	name := "feed.import " + j.ID.String()
	root := inspect.Node{ID: 1, Name: name, Path: "shop/" + name, State: "running", Kind: "run", Age: time.Minute, Wait: inspect.Wait{For: "task", On: "shop/" + name + "/page 1"}}
	for i := range 30 {
		page := inspect.Node{ID: uint32(10 + i), Name: fmt.Sprintf("page %d", i+1), Path: fmt.Sprintf("%s/page %d", root.Path, i+1), State: "running", Kind: "task"}
		page.Wait = inspect.Wait{For: "network", On: "read", Call: "net/http.(*Client).Do", File: "/src/shop/feed.go", Line: 12 + i} // so that no two tasks are alike
		root.Tasks = append(root.Tasks, page)
	}
	root.Tasks[0].Wait.Deadlock = true
	root.Tasks[1].More = 7
	return root
}

func TestLiveTree(t *testing.T) {
	s := memory.New()
	j := reported(t, s, shopTree)
	path := "/jobs/" + j.ID.String()
	h := dash.New(dash.Config{Store: s})
	has(t, get(t, h, path), http.StatusOK, `38 tasks: network × 30, task × 1`, `<span class="task-name">feed.import</span>`, `<b class="w-task">task</b> page 1`,
		`<b class="w-deadlock">deadlock: network</b> read`, "shop/feed.go:12", "http.(*Client).Do", "<summary>5 more tasks</summary>", "7 tasks left out",
		path+"/task?task=10", "not task?task=1\"")
	readOnly := dash.New(dash.Config{Store: s, ReadOnly: func(*http.Request) bool { return true }})
	has(t, get(t, readOnly, path), http.StatusOK, "page 30", "not /task?task=")
	has(t, get(t, readOnly, path+"/task?task=10"), http.StatusForbidden, "You have read-only access")
	has(t, post(t, readOnly, path+"/task", "task", "10"), http.StatusForbidden, "You have read-only access")

	has(t, get(t, h, path+"/task?task=10"), http.StatusOK, "Cancel task page 1?")
	has(t, get(t, h, path+"/task?task=99"), http.StatusNotFound, "The job has no such task")
	w := post(t, h, path+"/task", "task", "10")
	has(t, get(t, h, w.Header().Get("Location")), http.StatusOK, "will cancel the task")
	want := job.Command{Do: job.CommandCancelTask, Job: j.ID, Task: "10"}
	if commands := renew(t, s, "w", nil).Commands; len(commands) != 1 || commands[0] != want {
		t.Errorf("commands %+v, want %+v", commands, want)
	}
	has(t, post(t, h, path+"/task", "task", "x"), http.StatusBadRequest, "is not the number of a task")

	// When the job ends, its tree is removed.
	j.State = job.Completed
	if _, err := s.Settle(t.Context(), 1, job.Outcomes(j)...); err != nil {
		t.Fatal(err)
	}
	has(t, get(t, h, path), http.StatusOK, "not Live tasks")
	has(t, post(t, h, path+"/task", "task", "10"), http.StatusConflict, "does not run any more")
}

// TestWorkerWithoutConcurrency: a program that only claims does not report how many jobs it runs.
func TestWorkerWithoutConcurrency(t *testing.T) {
	for _, c := range []struct {
		running, concurrency int
		want                 string
	}{{0, 0, "–"}, {3, 0, "3"}, {3, 5, `3<span class="of">/5</span>`}} {
		s := memory.New()
		renew(t, s, "w", func(r *job.Renewal) { r.Info.Running, r.Info.Concurrency = c.running, c.concurrency })
		has(t, get(t, dash.New(dash.Config{Store: s}), "/workers"), http.StatusOK, `data-label="Running">`+c.want+`</td>`)
	}
}

// TestJobOfGoneWorker: the page of a running job says when its worker was last seen once that is longer ago than a lease.
func TestJobOfGoneWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		enqueue(t, s, "feed.import", `{}`, 1)
		j := settle(t, s, job.DefaultQueue, func(*job.Job) {})
		renew(t, s, "w", nil)
		h, path := dash.New(dash.Config{Store: s}), "/jobs/"+j.ID.String()
		has(t, get(t, h, path), http.StatusOK, "Its worker is asked for its tasks", "not gone</span>", "not Its worker was last seen")
		time.Sleep(2*time.Minute + 40*time.Second)
		has(t, get(t, h, path), http.StatusOK, `<span class="state s-gone">gone</span>`, "Its worker was last seen <time data-ago", "When the lease of the job is over, the next worker runs it.",
			"not Its worker is asked for its tasks")
		has(t, get(t, h, "/workers"), http.StatusOK, `<span class="state s-gone">gone</span>`, `data-label="Up">0 s`, "not data-since")
	})
}

// TestLiveTreeIsGrouped: similar tasks are shown as one line, and so are their children. Each task can still be shown and canceled.
func TestLiveTreeIsGrouped(t *testing.T) {
	s := memory.New()
	j := reported(t, s, func(j *job.Job) inspect.Node {
		root := inspect.Node{ID: 1, Name: "feed.import " + j.ID.String(), Path: "shop", State: "running", Kind: "run", Wait: inspect.Wait{For: "tasks"}}
		for i := range 40 {
			host := inspect.Node{ID: uint32(1000 + i), Name: fmt.Sprintf("host %d", i), Path: fmt.Sprintf("shop/host %d", i), State: "running", Kind: "task", Age: time.Minute, Wait: inspect.Wait{For: "tasks"}}
			for k := range 4 {
				host.Tasks = append(host.Tasks, inspect.Node{
					ID: uint32(2000 + 10*i + k), Name: fmt.Sprintf("page %d", k), Path: fmt.Sprintf("%s/page %d", host.Path, k), State: "running", Kind: "task",
					Wait: inspect.Wait{For: "network", On: "read", File: "/src/shop/feed.go", Line: 12},
				})
			}
			root.Tasks = append(root.Tasks, host)
		}
		return root
	})
	path := "/jobs/" + j.ID.String()
	w := get(t, dash.New(dash.Config{Store: s}), path)
	has(t, w, http.StatusOK, `201 tasks: network × 160, tasks × 41`, `<span class="task-name">host 0 … host 39</span> <span class="tag">× 40</span>`,
		`<span class="task-name">page 0 … page 3</span> <span class="tag">× 160</span>`, "<summary>40 tasks one by one</summary>", "<summary>4 tasks one by one</summary>",
		"oldest <time", path+"/task?task=1039", path+"/task?task=2393", "not task?task=0\"", "not <summary>160 tasks")
	if got := strings.Count(w.Body.String(), path+"/task?task=2393"); got != 1 {
		t.Errorf("one task can be canceled at %d places", got)
	}
}

func TestHostileTree(t *testing.T) {
	s := memory.New()
	j := reported(t, s, func(*job.Job) inspect.Node {
		bad := inspect.Node{ID: 2, Name: evil, Path: evil, State: evil, Kind: evil, Wait: inspect.Wait{For: evil, On: evil, Call: evil, File: evil, Line: 1}}
		return inspect.Node{ID: 1, Name: evil, Path: evil, State: evil, Kind: evil, Wait: bad.Wait, Tasks: []inspect.Node{bad}}
	})
	h := dash.New(dash.Config{Store: s})
	path := "/jobs/" + j.ID.String()
	w := get(t, h, path)
	has(t, w, http.StatusOK, "task-name")
	checkEscaped(t, path, w.Body.String())
	checkEscaped(t, "its stream", decoded(t, read(t, h, path)))
	checkEscaped(t, "the question", get(t, h, path+"/task?task=2").Body.String())
}

// A watched store counts the calls of Watch.
type watched struct {
	*memory.Store
	n *int
}

func (w watched) Watch(ctx context.Context, id job.ID, d time.Duration) (job.Tree, error) {
	*w.n++
	return w.Store.Watch(ctx, id, d)
}

// TestOnlyRunningJobsAreWatched: a job is watched only while it runs and a page shows it.
func TestOnlyRunningJobsAreWatched(t *testing.T) {
	n := 0
	s := watched{memory.New(), &n}
	queued := enqueue(t, s, "mail", `{}`, 1, job.In(time.Hour))[0]
	h := dash.New(dash.Config{Store: s})
	for _, path := range append(allPages, "/jobs/"+queued.ID.String(), "/jobs/"+queued.ID.String()+"/raw") {
		if w := get(t, h, path); w.Code != http.StatusOK {
			t.Errorf("%s: status %d", path, w.Code)
		}
	}
	if n != 0 {
		t.Errorf("%d watches for a job that does not run", n)
	}
	j := reported(t, s, shopTree)
	n = 0
	get(t, h, "/jobs/"+j.ID.String())
	if n != 1 {
		t.Errorf("%d watches for one load of the page", n)
	}
}
