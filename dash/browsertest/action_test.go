package browsertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/meanwhile-go/meanwhile/job"
)

func TestActions(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		for _, scripts := range []bool{true, false} {
			if !scripts && s.store != "sqlite" {
				continue // pages without scripts send the same requests
			}
			t.Run(fmt.Sprintf("scripts=%t", scripts), func(t *testing.T) {
				t.Run("selection", func(t *testing.T) { s.testSelection(t, scripts) })
				t.Run("undo", func(t *testing.T) { s.testUndo(t, scripts) })
				t.Run("everything", func(t *testing.T) { s.testEverything(t, scripts) })
				t.Run("queue", func(t *testing.T) { s.testQueue(t, scripts) })
				t.Run("cron", func(t *testing.T) { s.testCron(t, scripts) })
				t.Run("clone", func(t *testing.T) { s.testClone(t, scripts) })
			})
		}
		t.Run("task", s.testTask)
		t.Run("job", s.testJob)
		t.Run("worker", s.testWorker)
	})
}

func look(scripts bool) Action { return Look(1280, 900, "light", scripts) }

// visit opens a page that may have no script.
func (b *tab) visit(path string) {
	b.Helper()
	b.run(chromedp.Navigate(b.url+path), chromedp.WaitVisible("main"))
}

func (s *stage) testSelection(t *testing.T, scripts bool) {
	b := s.tab(t, look(scripts))
	b.visit("/jobs?state=scheduled")
	id, err := job.ParseID(eval[string](b, `document.querySelector("tr[data-id]").dataset.id`))
	if err != nil {
		t.Fatal(err)
	}
	b.run(chromedp.Click(`tbody input[name="id"]`))
	b.click("#actions", "Cancel")
	b.sees("Cancel 1 job?")
	b.click(".question", "Cancel")
	b.sees("1 job canceled")
	if got := b.job(id).State; got != job.Canceled {
		t.Errorf("the job is %s", got)
	}
	if scripts { // they remove the result from the URL once the page is loaded
		b.run(Until(`location.search === "?state=scheduled"`))
	}
	// An action with an argument.
	b.visit("/jobs?state=scheduled")
	id, _ = job.ParseID(eval[string](b, `document.querySelector("tr[data-id]").dataset.id`))
	b.run(chromedp.Click(`tbody input[name="id"]`))
	b.click("#actions", "More")
	b.click("#actions", "Move to a queue")
	b.run(chromedp.SendKeys(`.question [name="argument"]`, "print"))
	b.click(".question", "Move")
	b.sees("1 job moved")
	if got := b.job(id).Queue; got != "print" {
		t.Errorf("the job is in queue %s", got)
	}
}

// testUndo undoes an action on its result page, on a phone and by the keyboard, and in the audit log.
func (s *stage) testUndo(t *testing.T, scripts bool) {
	b := s.tab(t, Look(390, 844, "dark", scripts))
	cancel := func() job.ID {
		b.visit("/jobs?state=scheduled")
		id, err := job.ParseID(eval[string](b, `document.querySelector("tr[data-id]").dataset.id`))
		if err != nil {
			t.Fatal(err)
		}
		b.visit("/jobs/" + id.String())
		b.click(".title", "Cancel")
		b.sees("it can be undone for queued jobs")
		b.click(".question", "Cancel")
		b.sees("1 job canceled")
		if got := b.job(id).State; got != job.Canceled {
			t.Errorf("the job is %s", got)
		}
		return id
	}
	undone := func(id job.ID) {
		b.sees("Undone for 1 job.")
		if got := b.job(id); got.State != job.Queued || time.Until(got.RunAt) < time.Minute {
			t.Errorf("the job is %s and due at %v", got.State, got.RunAt)
		}
	}
	id := cancel()
	b.run(Do(`document.querySelector("#told button").focus()`), chromedp.KeyEvent(kb.Enter))
	undone(id)
	id = cancel()
	b.visit("/audit")
	b.click(".undos li:first-child", "Undo")
	undone(id)
	b.sees("undo cancel")
}

func (s *stage) testEverything(t *testing.T, scripts bool) {
	b := s.tab(t, look(scripts))
	b.visit("/jobs?kind=picture.resize&state=completed")
	n := eval[string](b, `[...document.querySelectorAll(".tabs a")].find(a => a.innerText.includes("completed")).querySelector("b").innerText`)
	b.click(".everyone", "All that match")
	b.click(".everyone", "Retry all")
	b.sees("Retry " + n + " jobs?")
	b.click(".question", "Retry")
	b.sees(n + " jobs retried")
	settled := func() bool {
		for _, err := range job.List(b.ctx, s.Store, job.Filter{Kinds: []string{"picture.resize"}, States: []job.State{job.Queued, job.Running}}) {
			if err != nil {
				t.Fatal(err)
			}
			return false
		}
		return true
	}
	for deadline := time.Now().Add(20 * time.Second); !settled(); {
		if time.Now().After(deadline) {
			t.Fatal("the jobs that were retried do not end")
		}
		time.Sleep(50 * time.Millisecond)
	}
	// Back leads back, and changes nothing.
	b.visit("/jobs?kind=picture.resize&state=completed")
	b.click(".everyone", "All that match")
	b.click(".everyone", "Delete all")
	b.sees("Delete " + n + " jobs?")
	b.click(".question", "Back")
	b.run(Until(`!document.querySelector(".question")?.checkVisibility() && location.search === "?kind=picture.resize&state=completed"`))
	b.sees("picture.resize")
}

func (s *stage) testQueue(t *testing.T, scripts bool) {
	b := s.tab(t, look(scripts))
	b.visit("/queues")
	paused := func() bool {
		queues, err := s.Store.Queues(b.ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range queues {
			if q.Name == "print" {
				return q.Paused
			}
		}
		return false
	}
	row := `tr:has(a[href$="name=print"])`
	b.click(row, "Pause")
	b.sees("The queue is paused")
	if !paused() {
		t.Error("the queue is not paused")
	}
	b.click(row, "Resume")
	b.sees("The queue is resumed")
	if paused() {
		t.Error("the queue is paused")
	}
}

// testClone: a clone keeps masked values, the form reports errors, and the audit log has an entry.
func (s *stage) testClone(t *testing.T, scripts bool) {
	b := s.tab(t, look(scripts))
	b.wrong = true // the first answer to the form is 400
	b.visit("/jobs/" + s.Failed.String())
	b.click(".title", "Clone")
	b.sees("Clone mail.send")
	b.run(Do(`document.querySelector("textarea").value = "{"`))
	b.click(".question", "Enqueue")
	b.sees("this is not JSON")
	b.run(Do(`document.querySelector("textarea").value = '{"user": 401, "template": "clone", "token": "•••"}'`), chromedp.SendKeys(`[name="due"]`, "2h"))
	b.click(".question", "Enqueue")
	b.sees("The job is enqueued")
	id, err := job.ParseID(eval[string](b, `location.pathname.slice(6)`))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(b.job(id).Args); got != `{"template":"clone","token":"sk-secret","user":401}` {
		t.Errorf("the args are %s", got)
	}
	b.visit("/audit")
	b.sees("as " + id.String())
}

func (s *stage) testCron(t *testing.T, scripts bool) {
	b := s.tab(t, look(scripts))
	b.visit("/crons")
	row := `tbody tr:first-child` // report
	b.click(row, "Pause")
	b.sees("The cron is paused")
	b.click(row, "Resume")
	b.sees("The cron is resumed")
	last := func() job.ID {
		crons, err := s.Store.Crons(b.ctx)
		if err != nil || len(crons) == 0 {
			t.Fatal(err)
		}
		return crons[0].Job
	}
	before := last()
	b.click(row, "Run now")
	b.sees("will run it now")
	for deadline := time.Now().Add(20 * time.Second); last() == before; {
		if time.Now().After(deadline) {
			t.Fatal("the cron did not run")
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// testTask: a task of a running job is canceled, and the others continue.
func (s *stage) testTask(t *testing.T) {
	b := s.tab(t, desk())
	b.open("/jobs/" + s.Import.String())
	b.sees("page 3")
	count := `[...document.querySelectorAll(".task-name")].filter(e => e.textContent === "page 3").length`
	before := eval[int](b, count)
	b.run(Do(`[...document.querySelectorAll(".task")].find(e => e.querySelector(".task-name").textContent === "page 3").querySelector(".stop").click()`))
	b.sees("Cancel task page 3?")
	b.click(".question", "Cancel the task")
	b.sees("will cancel the task")
	b.run(Until(fmt.Sprintf(`document.querySelector(".tree") && %s < %d`, count, before)))
}

func (s *stage) testJob(t *testing.T) {
	b := s.tab(t, desk())
	b.open("/jobs/" + s.Import.String())
	b.click(".title", "Cancel")
	b.sees("Cancel 1 job?")
	b.click(".question", "Cancel")
	b.sees("1 job canceled, or asked to stop")
	b.run(Until(`document.querySelector("h1 .state").innerText === "canceled"`))
	b.click(".title", "Retry")
	b.click(".question", "Retry")
	b.run(Until(`document.querySelector("h1 .state").innerText === "running"`))
	b.click(".title", "Cancel")
	b.click(".question", "Cancel")
	b.run(Until(`document.querySelector("h1 .state").innerText === "canceled"`))
	b.click(".title", "Delete")
	b.click(".question", "Delete")
	b.sees("1 job deleted")
}

func (s *stage) testWorker(t *testing.T) {
	b := s.tab(t, desk())
	b.open("/workers")
	b.click("tbody", "Quiet")
	b.sees("will claim no more jobs")
	b.run(Until(`document.querySelector("tbody .state")?.innerText === "quiet"`))
	b.click("tbody", "Resume")
	b.run(Until(`!document.querySelector("tbody .state")`))
	b.click("tbody", "Stop")
	b.sees("Stop worker shop-1?")
	b.click(".question", "Stop")
	b.sees("will stop")
	b.sees("No workers")
}
