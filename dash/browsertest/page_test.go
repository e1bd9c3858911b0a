package browsertest

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/meanwhile-go/meanwhile/job"
)

// paths are those of all pages.
func (s *stage) paths() []string {
	return []string{"/", "/jobs", "/jobs?state=discarded&sort=kind", "/jobs/" + s.Import.String(), "/jobs/" + s.Failed.String(), "/queues", "/workers", "/crons", "/logs"}
}

func TestPages(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		b := s.tab(t, desk())
		for _, path := range s.paths() {
			b.open(path)
			if got := eval[string](b, "document.querySelector('h1').innerText"); got == "" {
				t.Errorf("%s has no heading", path)
			}
		}
		t.Run("tree", s.testTree)
		t.Run("groups", s.testGroups)
		t.Run("waits", s.testWaits)
		t.Run("search", s.testSearch)
		t.Run("keys", s.testKeys)
		t.Run("live", s.testLive)
		t.Run("logs", s.testLogs)
		t.Run("narrow", s.testNarrow)
		t.Run("colours", s.testColours)
		t.Run("axe", s.testAxe)
	})
}

// The tree of a job that runs elsewhere is there in two seconds, with what each task waits for.
func (s *stage) testTree(t *testing.T) {
	b := s.tab(t, desk())
	b.open("/jobs/" + s.Import.String())
	b.sees("eu.example.com")
	b.sees("semaphore")
	b.sees("scene.go:")
	if got := eval[int](b, `document.querySelectorAll(".task").length`); got < 9 {
		t.Errorf("the tree has %d tasks", got)
	}
	b.sees("of 240") // its progress
	b.sees("a host answers slowly")
}

// Tasks that are alike share a line. It can be opened, and stays open when the tree changes; each task in it can be canceled.
func (s *stage) testGroups(t *testing.T) {
	b := s.tab(t, desk())
	b.open("/jobs/" + s.Import.String())
	b.run(Until(`[...document.querySelectorAll(".task .tag")].some(e => /^× [56]$/.test(e.innerText))`))
	opened := `[...document.querySelectorAll(".tree details")].find(e => /^[56] tasks one by one$/.test(e.querySelector("summary").innerText))`
	b.run(Do(opened + `.querySelector("summary").click()`))
	asOf := `document.querySelector("#treehead time").dateTime`
	before := eval[string](b, asOf)
	b.run(Until(fmt.Sprintf("%s !== %q", asOf, before)))
	b.run(Until(opened + `.open`))
	members := opened + `.querySelectorAll(".task-name")`
	b.run(Until(fmt.Sprintf(`[...%s].some(e => e.innerText === "page 4" && e.checkVisibility())`, members)))
	b.run(Do(opened + `.querySelector(".stop").click()`))
	b.sees("Cancel task page ")
}

// The first page says where the time of a kind goes, as its worker reports it, and leads to the jobs.
func (s *stage) testWaits(t *testing.T) {
	b := s.tab(t, desk())
	b.open("/")
	b.sees("Where the time goes")
	b.run(Until(`/feed\.import[^]*% semaphore made at scene\.go:/.test(document.querySelector("#waits").innerText)`))
	b.click("#waits", "feed.import")
	b.run(Until(`location.search.includes("kind=feed.import") && document.querySelectorAll("tr[data-id]").length === 1`))
}

func (s *stage) testSearch(t *testing.T) {
	b := s.tab(t, desk())
	b.open("/jobs")
	b.run(chromedp.SendKeys(`[name="kind"]`, "mail.send"), chromedp.SendKeys(`[name="args"]`, "user=3"+kb.Enter), Until(`location.search.includes("args=user%3D3")`))
	b.run(Until(`document.querySelectorAll("tr[data-id]").length === 1`))
	b.click(".search", "Clear")
	b.run(Until(`location.search === "" && document.querySelectorAll("tr[data-id]").length === 50`))
	b.click(".pager", "Older")
	b.run(Until(`location.search.startsWith("?before=")`))
	b.click(".tabs", "discarded\n"+eval[string](b, `document.querySelector('.tabs a:last-child b').innerText`))
	b.run(Until(`location.search === "?state=discarded" && [...document.querySelectorAll("tbody .state")].every(e => e.innerText === "discarded")`))
	b.click("thead", "Kind")
	b.run(Until(`document.querySelector("th.c-kind").ariaSort === "ascending"`))
}

func (s *stage) testKeys(t *testing.T) {
	b := s.tab(t, desk())
	b.open("/jobs")
	row := func(n int) Action {
		return Until(fmt.Sprintf(`document.activeElement === document.querySelectorAll("[data-open]")[%d]`, n))
	}
	b.run(chromedp.KeyEvent("j"), row(0), chromedp.KeyEvent("j"), row(1), chromedp.KeyEvent("j"), row(2), chromedp.KeyEvent("k"), row(1))
	b.run(chromedp.KeyEvent("x"), Until(`document.querySelectorAll("tr[data-id] input")[1].checked`))
	b.sees("1 selected")
	b.run(chromedp.KeyEvent("x"), Until(`!document.querySelectorAll("tr[data-id] input")[1].checked`))
	b.run(chromedp.KeyEvent("/"), Until(`document.activeElement.name === "kind"`))
	b.run(chromedp.KeyEvent("jx/"), Until(`document.activeElement.value.endsWith("jx/")`)) // which types
	b.run(chromedp.KeyEvent(kb.Escape), Until(`document.activeElement === document.body`))
	b.run(chromedp.KeyEvent("?"), Until(`document.querySelector("#keys").open`))
	b.run(chromedp.KeyEvent(kb.Escape), Until(`!document.querySelector("#keys").open`))
	// Who dictates turns them off.
	b.run(chromedp.KeyEvent("?"), chromedp.Click("#keys-on"), chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent("/"))
	if eval[bool](b, `document.activeElement.name === "kind"`) {
		t.Error("a key that is turned off does something")
	}
	b.run(Do(`localStorage.clear()`))
	b.open("/jobs")
	b.run(chromedp.KeyEvent("j"), row(0), chromedp.KeyEvent(kb.Enter), Until(`location.pathname.length > 20`))
}

// What happens is on the page within two seconds, and nothing else on it moves.
func (s *stage) testLive(t *testing.T) {
	enqueue := func(b *tab, queue string) job.ID {
		j, err := job.New("invoice.print", []byte(`{"live": true}`), job.Queue(queue))
		if err == nil {
			_, err = job.Insert(b.ctx, s.Store, j)
		}
		if err != nil {
			b.Fatal(err)
		}
		return j.ID
	}
	tests := []struct{ path, changed string }{
		{"/", `document.querySelector("#totals").innerText !== was`},
		{"/jobs", `document.querySelector("tr[data-id='" + id + "']")`},
		{"/jobs?queue=print", `document.querySelector("tr[data-id='" + id + "']")`},
		{"/queues", `[...document.querySelectorAll("tr")].some(r => r.innerText.includes("print") && r.children[1].innerText === String(queued))`},
	}
	b := s.tab(t, desk())
	for _, test := range tests {
		b.open(test.path)
		b.settled()
		b.run(Do(`var was = document.querySelector("#totals")?.innerText`))
		for range 3 {
			id := enqueue(b, "print")
			queues, err := s.Store.Queues(b.ctx)
			if err != nil {
				t.Fatal(err)
			}
			queued := int64(0)
			for _, q := range queues {
				if q.Name == "print" {
					queued = q.Queued
				}
			}
			b.run(Do(fmt.Sprintf(`var id = %q, queued = %d`, id, queued)), Until(test.changed))
		}
		b.still(test.path)
	}
	// The job page has the most that changes.
	b.open("/jobs/" + s.Import.String())
	b.sees("eu.example.com")
	b.settled()
	b.run(Do(`var before = document.querySelector(".going").innerText`), Until(`document.querySelector(".going").innerText.split(" ")[0] !== before.split(" ")[0]`))
	b.still("the page of a job")

	// A list in which somebody is about to choose stays.
	b.open("/jobs")
	b.run(chromedp.Click(`tbody input[name="id"]`), Do(`var first = document.querySelector("tr[data-id]").dataset.id`))
	enqueue(b, "print")
	b.run(Until(`document.querySelector("#newer.on")`))
	if !eval[bool](b, `document.querySelector("tr[data-id]").dataset.id === first && document.querySelector("tbody input").checked`) {
		t.Error("the list moved under the selection")
	}
	b.run(chromedp.Click("#newer"), Until(`document.querySelector("tr[data-id]").dataset.id !== first && !document.querySelector("#newer.on")`))
	// Live updates can be stopped.
	b.run(chromedp.Click("#live"), Until(`document.querySelector("#live").innerText === "stopped"`), chromedp.Click("#live"), Until(`document.querySelector("#live.is-live")`))
}

// settled forgets what moved until the page was drawn as a whole: a busy browser draws it while half of it is there.
func (b *tab) settled() {
	b.Helper()
	b.run(
		Do(`var drawn = false; requestAnimationFrame(() => requestAnimationFrame(() => { drawn = true }))`), Until("drawn"),
		Do(`shifts.length = 0`),
	)
}

// still fails the test when something on the page has moved since it was settled.
func (b *tab) still(where string) {
	b.Helper()
	for _, moved := range eval[[]string](b, "shifts") {
		b.Errorf("live updates moved %s: %s", where, moved)
	}
}

// No page is wider than a phone, nor than a window that is zoomed to 200 %.
func (s *stage) testNarrow(t *testing.T) {
	for _, width := range []int64{360, 640} {
		b := s.tab(t, Look(width, 740, "light", true))
		for _, path := range append(s.paths(), "/jobs/act?act=delete&all=1") {
			b.run(chromedp.Navigate(b.url+path), Until(`document.readyState === "complete"`))
			if got := eval[int64](b, "document.documentElement.scrollWidth"); got > width {
				t.Errorf("%s is %d wide in a window of %d: %s", path, got, width, eval[string](b, fmt.Sprintf(
					`[...document.querySelectorAll("main *, header *")].filter(e => e.getBoundingClientRect().right > %d).map(e => e.tagName + "." + e.className).slice(0, 6).join(" ")`, width)))
			}
		}
	}
}

func (s *stage) testColours(t *testing.T) {
	const background = `getComputedStyle(document.documentElement).backgroundColor`
	b := s.tab(t, Look(1280, 900, "dark", true))
	b.open("/")
	dark := eval[string](b, background)
	b = s.tab(t, desk())
	b.open("/jobs?kind=mail.send")
	light := eval[string](b, background)
	if dark == light {
		t.Errorf("dark and light are both %s", dark)
	}
	for _, step := range []struct{ click, want string }{{"Auto", dark}, {"Dark", light}, {"Light", light}} {
		b.click(".theme", step.click)
		b.run(Until(fmt.Sprintf(`%s === %q && location.search === "?kind=mail.send" && !document.querySelector(".theme").innerText.includes(%q)`, background, step.want, step.click)))
	}
}
