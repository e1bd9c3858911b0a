package browsertest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/job"
)

// paths returns the paths of all pages.
func (s *stage) paths() []string {
	return []string{
		"/", "/jobs", "/jobs?state=discarded&sort=kind", "/jobs/" + s.Import.String(), "/jobs/" + s.Failed.String(), "/failures", "/queue?name=mail", "/queue?name=print&range=7d", "/kind?name=mail.send&range=24h", "/queues", "/workers", "/crons",
		"/cron?name=sweep", "/audit", "/logs",
	}
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
		t.Run("search", s.testSearch)
		t.Run("reach", s.testReach)
		t.Run("live", s.testLive)
		if s.store != "sqlite" {
			return // the appearance and the use of a page, its trees and its logs do not depend on the store
		}
		t.Run("groups", s.testGroups)
		t.Run("waits", s.testWaits)
		t.Run("logs", s.testLogs)
		t.Run("keys", s.testKeys)
		t.Run("palette", s.testPalette)
		t.Run("questions", s.testQuestions)
		t.Run("copy", s.testCopy)
		t.Run("none selected", s.testNoneSelected)
		t.Run("colours", s.testColours)
		// These run in parallel after the others, since they change nothing that another test reads.
		t.Run("axe", s.testAxe)
		t.Run("axe of states", s.testAxeStates)
		t.Run("layout", s.testLayout)
		t.Run("disconnected", s.testDisconnected)
		t.Run("signed out", s.testSignedOut)
		t.Run("rows", s.testRows)
		t.Run("shift", s.testShift)
		t.Run("retried", s.testRetried)
		t.Run("motion", s.testMotion)
		t.Run("navigation", s.testNavigation)
	})
}

// testTree: the tree of a job that runs in another process is shown within two seconds, with what each task waits for.
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

// testGroups: similar tasks share a line. It can be opened, and stays open when the tree changes; each task in it can be canceled.
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

// testWaits: the overview shows what jobs of a kind spend their time on, as its worker reports it, and links to the jobs.
func (s *stage) testWaits(t *testing.T) {
	b := s.tab(t, desk())
	b.open("/")
	b.sees("Where the time goes")
	b.run(Until(`/feed\.import[^]*% semaphore made at scene\.go:/.test(document.querySelector("#waits").innerText)`))
	b.click("#waits", "feed.import")
	b.run(Until(`location.pathname === "/kind" && document.querySelector("#waits tbody tr a").innerText === "feed.import"`))
}

func (s *stage) testSearch(t *testing.T) {
	b := s.tab(t, desk())
	b.open("/jobs")
	b.run(chromedp.SendKeys(`[name="kind"]`, "mail.send"), chromedp.SendKeys(`[name="args"]`, "user=3"+kb.Enter), Until(`location.search.includes("args=user%3D3")`))
	b.run(Until(`document.querySelectorAll("tr[data-id]").length === 1`))
	b.click(".search", "Clear")
	b.run(Until(`location.search === "" && document.querySelectorAll("tr[data-id]").length === 50`))
	b.click(".pager", "Older")
	b.run(Until(`location.search.startsWith("?before=") && document.querySelector(".tabs a:last-child b")`))
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
	b.run(chromedp.KeyEvent("jx/"), Until(`document.activeElement.value.endsWith("jx/")`)) // keys are typed into the field
	b.run(chromedp.KeyEvent(kb.Escape), Until(`document.activeElement === document.body`))
	b.run(chromedp.KeyEvent("?"), Until(`document.querySelector("#keys").open`))
	b.run(chromedp.KeyEvent(kb.Escape), Until(`!document.querySelector("#keys").open`))
	// Users of dictation software can turn the keys off.
	b.run(chromedp.KeyEvent("?"), chromedp.Click("#keys-on"), chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent("/"))
	if eval[bool](b, `document.activeElement.name === "kind"`) {
		t.Error("a key that is turned off does something")
	}
	b.run(Do(`localStorage.clear()`))
	b.open("/jobs")
	b.run(chromedp.KeyEvent("j"), row(0), chromedp.KeyEvent(kb.Enter), Until(`location.pathname.length > 20`))
}

// testPalette: the palette opens pages and runs the actions of the page, by the keyboard alone.
func (s *stage) testPalette(t *testing.T) {
	b := s.tab(t, desk())
	b.open("/queues")
	openIt := []Action{Until(`document.querySelector("#live.is-live")`), chromedp.KeyEvent("k", chromedp.KeyModifiers(chromedp.ModifierCtrl)), Until(`document.querySelector("#palette").open && document.activeElement.id === "palette-input"`)}
	b.run(openIt...)
	chosen := func(text string) Action {
		return Until(fmt.Sprintf(`document.getElementById(document.querySelector("#palette-input").getAttribute("aria-activedescendant"))?.innerText === %q`, text))
	}
	b.run(chosen("Overview"), chromedp.KeyEvent(kb.ArrowDown), chosen("Jobs"), chromedp.KeyEvent(kb.ArrowUp), chosen("Overview"))
	b.run(chromedp.SendKeys("#palette-input", "kind mail"), chosen("Kind mail.send"), chromedp.KeyEvent(kb.Enter), Until(`location.pathname === "/kind" && document.querySelector("#live.is-live")`))
	// An action of the page.
	b.open("/queues")
	b.run(openIt...)
	b.run(chromedp.SendKeys("#palette-input", "pause print"), chosen("Pause print"), chromedp.KeyEvent(kb.Enter))
	b.sees("The queue is paused")
	b.run(openIt...)
	b.run(chromedp.SendKeys("#palette-input", "resume print"), chosen("Resume print"), chromedp.KeyEvent(kb.Enter))
	b.sees("The queue is resumed")
	// A name without a match does nothing, and Escape closes the palette.
	b.run(openIt...)
	b.run(chromedp.SendKeys("#palette-input", "no such thing"), Until(`document.querySelector("#palette-none").innerText !== "" && !document.querySelector("#palette-list").checkVisibility()`))
	b.run(chromedp.KeyEvent(kb.Enter), chromedp.KeyEvent(kb.Escape), Until(`!document.querySelector("#palette").open`))
}

// testReach: the page of a queue shows an hour, a day and a week; a click on a bar leads to the jobs of its time.
func (s *stage) testReach(t *testing.T) {
	b := s.tab(t, desk())
	b.open("/queue?name=mail")
	b.run(Until(`document.querySelector("#charts a")`))
	b.click("#ranges", "7 days")
	b.run(Until(`location.search === "?name=mail&range=7d" && document.querySelector("#ranges [aria-current]")?.innerText === "7 days"`))
	b.sees("per 3 hours")
	b.run(Until(`document.querySelector("#charts a")`), Do(`document.querySelector("#charts a").dispatchEvent(new MouseEvent("click", {bubbles: true, cancelable: true, view: window}))`))
	b.run(Until(`location.pathname === "/jobs" && location.search.includes("since=") && document.querySelectorAll("tr[data-id]").length > 0`))
}

// testCopy: texts of a job are copied, or selected if the page must not write to the clipboard.
func (s *stage) testCopy(t *testing.T) {
	b := s.tab(t, desk())
	b.open("/jobs/" + s.Failed.String())
	b.run(Do(`document.querySelector(".copies summary").click()`), chromedp.Click(`[data-copy="copy-0"]`))
	b.run(Until(fmt.Sprintf(`document.querySelector('[data-copy="copy-0"]').innerText === "Copied" || getSelection().toString().trim() === %q`, s.Failed)))
}

// testLive: changes are shown within two seconds, and nothing else on the page moves.
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
	// The page of a job has the most parts that change.
	b.open("/jobs/" + s.Import.String())
	b.sees("eu.example.com")
	b.settled()
	b.run(Do(`var before = document.querySelector(".going").innerText`), Until(`document.querySelector(".going").innerText.split(" ")[0] !== before.split(" ")[0]`))
	b.still("the page of a job")

	// A list does not move while the user is selecting.
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

// settled forgets layout shifts up to the complete rendering of the page: a busy browser paints it when half of it is loaded.
func (b *tab) settled() {
	b.Helper()
	b.drawn()
	b.run(Do(`shifts.length = 0`))
}

// drawn waits until the browser has painted the current page.
func (b *tab) drawn() {
	b.Helper()
	b.run(Do(`var drawn = false; requestAnimationFrame(() => requestAnimationFrame(() => { drawn = true }))`), Until("drawn"))
}

// unmoved fails the test if anything on the page has moved since it was opened, including a live tree.
func (b *tab) unmoved(where string) {
	b.Helper()
	if cls := eval[float64](b, "cls"); cls > 0 {
		b.Errorf("%s has a CLS of %.5f: %q", where, cls, eval[[]string](b, "allShifts"))
	}
}

// still fails the test if something on the page has moved since settled was called.
func (b *tab) still(where string) {
	b.Helper()
	for _, moved := range eval[[]string](b, "shifts") {
		b.Errorf("on %s something moved: %s", where, moved)
	}
}

// testDisconnected: a page says that it is not up to date if its server or its store has not answered for a while, and stops saying so once it does.
func (s *stage) testDisconnected(t *testing.T) {
	t.Parallel()
	const notice = `document.querySelector("#trouble").innerText`
	for _, state := range s.states(t) {
		if state.away == nil {
			continue
		}
		t.Run(state.name, func(t *testing.T) {
			t.Parallel()
			server := state.serve(t)
			b := s.at(server.URL).tab(t, desk())
			b.wrong = true
			b.open("/queues")
			state.away(server, true)
			b.run(Until(notice+`.startsWith("This page is not up to date") && document.querySelector("#live.is-lost")?.innerText === "no answer"`), Until(`getComputedStyle(document.querySelector("#trouble")).position === "fixed"`))
			state.away(server, false)
			b.run(Until(notice + ` === "" && document.querySelector("#live.is-live")`))
			b.still("a page whose server was away")
		})
	}
}

// testSignedOut: a page whose session has ended says so, and is live again when its reader has signed in elsewhere.
func (s *stage) testSignedOut(t *testing.T) {
	t.Parallel()
	var out atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if out.Load() && strings.HasPrefix(r.URL.Path, "/jobs") { // as a guard does
			http.Error(w, "you are not signed in", http.StatusUnauthorized)
			return
		}
		s.h.ServeHTTP(w, r)
	}))
	defer server.Close()
	defer server.CloseClientConnections()
	b := s.at(server.URL).tab(t, desk())
	b.wrong = true
	b.open("/jobs")
	out.Store(true)
	server.CloseClientConnections()
	b.run(Until(`document.getElementById("trouble").innerText.includes("no longer signed in")`), Do(`setTimeout(() => window.later = true, 6000)`), Until(`window.later`))
	b.run(Until(`document.getElementById("trouble").innerText.includes("no longer signed in")`))
	out.Store(false)
	b.run(Until(`document.getElementById("trouble").hidden && document.getElementById("live").classList.contains("is-live")`))
}

// testRows: twenty jobs are visible on a common laptop when the page is loaded, and so would be twenty queues or crons; eight jobs fit on the screen
// of a phone.
func (s *stage) testRows(t *testing.T) {
	t.Parallel()
	s = s.apart(t)
	b := s.tab(t, Look(1440, 900, "light", true))
	b.open("/jobs")
	if got := eval[int](b, `[...document.querySelectorAll("tr[data-id]")].filter(r => r.getBoundingClientRect().bottom <= innerHeight).length`); got < 20 {
		t.Errorf("%d jobs are in view, want 20", got)
	}
	for _, path := range []string{"/queues", "/crons"} {
		b.open(path)
		if got := eval[int](b, `{const row = document.querySelector(".list tbody tr").getBoundingClientRect(); Math.floor((innerHeight - row.top) / row.height)}`); got < 20 {
			t.Errorf("%d rows of %s would be in view, want 20", got, path)
		}
	}
	b = s.tab(t, Look(390, 844, "light", true))
	b.open("/jobs")
	if got := eval[int](b, `{const rows = [...document.querySelectorAll("tr[data-id]")].map(r => r.getBoundingClientRect()); rows.filter(r => r.bottom - rows[0].top <= innerHeight).length}`); got < 8 {
		t.Errorf("%d jobs fit a phone, want 8", got)
	}
}

// testShift: nothing on a page moves from loading until it is live and has been updated.
func (s *stage) testShift(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int64{{390, 844}, {1440, 900}} {
		t.Run(fmt.Sprint(size[0]), func(t *testing.T) {
			t.Parallel()
			b := s.apart(t).tab(t, Look(size[0], size[1], "light", true))
			for _, path := range s.paths() {
				b.open(path)
				b.drawn()
				// Nothing moves when the texts of times change.
				b.run(
					Do(`var times = [...document.querySelectorAll("time[data-ago], time[data-due], time[data-since]")], texts = times.map(t => t.textContent); {const now = Date.now; Date.now = () => now() + 100_000}`),
					Until(`times.length === 0 || times.some((t, i) => t.textContent !== texts[i])`),
				)
				b.drawn()
				// Nothing moves when a job of a list gets another state.
				b.run(Do(`for (const state of document.querySelectorAll(".c-state .state")) state.textContent = state.textContent === "queued" ? "cancelled" : "queued"`))
				b.drawn()
				b.still(fmt.Sprintf("%s, %d wide,", path, size[0]))
			}
		})
	}
}

// testRetried: nothing on the page of a job moves while the job fails again and again, even if each part of the page grows; nor does the page of a
// job that starts to run.
func (s *stage) testRetried(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int64{{390, 844}, {1280, 900}, {2560, 1440}} {
		t.Run(fmt.Sprint(size[0]), func(t *testing.T) {
			t.Parallel()
			b := s.apart(t).tab(t, Look(size[0], size[1], "light", true))
			failing, err := SendMail.New(Mail{User: 500, Template: "news"}, job.Priority(9))
			if err != nil {
				t.Fatal(err)
			}
			later, err := Import.New(Feed{Shop: "toys", Pages: 240, Hosts: []string{"eu.example.com"}}, job.In(time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := job.Insert(b.ctx, s.Store, failing, later); err != nil {
				t.Fatal(err)
			}
			b.open("/jobs/" + failing.ID.String())
			b.run(Until(`document.querySelectorAll(".timeline li").length >= 4 && document.querySelectorAll(".failure").length >= 3`))
			b.drawn()
			b.still("the page of a job that fails again")
			b.unmoved("the page of a job that fails again")

			b.open("/jobs/" + later.ID.String())
			if _, err := job.Apply(b.ctx, s.Store, job.Filter{IDs: []job.ID{later.ID}}, job.ActionRetry); err != nil {
				t.Fatal(err)
			}
			b.run(Until(`document.querySelectorAll(".task").length > 3`))
			b.drawn()
			b.still("the page of a job that begins to run")
		})
	}
}

// testMotion: users who prefer reduced motion see no animations.
func (s *stage) testMotion(t *testing.T) {
	t.Parallel()
	b := s.apart(t).tab(t, desk())
	moving := func() []string {
		return eval[[]string](b, `document.getAnimations().map(a => (a.animationName ?? a.transitionProperty) + " of " + a.effect.target.outerHTML.slice(0, 80))`)
	}
	b.open("/")
	if len(moving()) == 0 {
		t.Error("nothing moves for anybody: this test sees nothing")
	}
	b.run(lessMotion())
	for _, path := range s.paths() {
		b.open(path)
		if found := moving(); len(found) > 0 {
			t.Errorf("on %s %q", path, found)
		}
		if found := eval[[]string](b, `[...document.querySelectorAll("*")].filter(e => {
			const style = getComputedStyle(e)
			return style.transitionDuration !== "0s" || style.animationName !== "none" || style.scrollBehavior === "smooth"
		}).map(e => e.outerHTML.slice(0, 80))`); len(found) > 0 {
			t.Errorf("on %s there may move %q", path, found)
		}
	}
}

// testNavigation: on a phone all entries of the navigation are visible.
func (s *stage) testNavigation(t *testing.T) {
	t.Parallel()
	b := s.apart(t).tab(t, Look(360, 740, "light", true))
	b.open("/audit")
	if got := eval[string](b, `[...document.querySelectorAll(".top nav a")].filter(a => a.getBoundingClientRect().right > innerWidth).map(a => a.innerText).join(" ")`); got != "" {
		t.Errorf("out of view are %s", got)
	}
}

// testNoneSelected: actions on the selected jobs are enabled when at least one job is selected.
func (s *stage) testNoneSelected(t *testing.T) {
	b := s.tab(t, desk())
	b.open("/jobs")
	const usable = `[...document.querySelectorAll("#actions button")].filter(e => !e.disabled).length`
	b.run(Until(usable+" === 0"), chromedp.Click(`tbody input[name="id"]`), Until(usable+" === 7"), chromedp.Click(`tbody input[name="id"]`), Until(usable+" === 0"))
	b = s.tab(t, look(false))
	b.visit("/jobs")
	b.click("#actions", "Retry")
	b.sees("No job is selected")
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

// testQuestions: the three questions of an operator are answered on the overview, or at most two clicks away: What is failing, since when and why?
// Why is this queue slow? What is this job waiting for?
func (s *stage) testQuestions(t *testing.T) {
	failing := state{h: dash.New(dash.Config{Store: newFailingStore(s.Store)})}
	b := s.at(failing.serve(t).URL).tab(t, desk())
	b.open("/")
	b.sees("kinds fail")
	b.click("#attention", eval[string](b, `document.querySelector("#attention a[href$='/failures']").innerText`))
	b.run(Until(`location.pathname === "/failures"`))
	b.sees("relay smtp.example.net refused the mail")
	b.sees("First seen")
	b.click("#rows", "newest example")
	b.run(Until(`document.querySelector(".last-error")?.innerText.length > 0`))

	b = s.tab(t, desk())
	b.open("/")
	b.click("#queues", "print")
	b.sees("no worker")
	b.open("/")
	b.click("#totals", eval[string](b, `document.querySelector("#totals a").innerText.trim()`))
	b.run(Until(`location.search === "?state=queued" && document.querySelector("#live.is-live")`))
	b.click("#rows", "invoice.print")
	b.sees("Waits because")
	b.sees("no worker")
	b.open("/")
	b.click("#totals", eval[string](b, `document.querySelectorAll("#totals a")[1].innerText.trim()`))
	b.run(Until(`location.search === "?state=running" && document.querySelector("#live.is-live")`))
	b.click("#rows", "feed.import")
	b.sees("semaphore")
}
