package browsertest

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
)

// readAxe returns the script of axe-core, from the path in MEANWHILE_AXE.
func readAxe(t *testing.T) string {
	t.Helper()
	path := os.Getenv("MEANWHILE_AXE")
	if path == "" {
		testenv.Missing(t, "no axe-core: npm install --prefix FOLDER axe-core@4, and MEANWHILE_AXE=FOLDER/node_modules/axe-core/axe.min.js")
	}
	script, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("read MEANWHILE_AXE: %v", err)
	}
	return string(script)
}

// testAxe checks the accessibility of the pages, wide and light, and narrow and dark.
func (s *stage) testAxe(t *testing.T) {
	t.Parallel()
	axe := readAxe(t)
	for colours, width := range map[string]int64{"light": 1280, "dark": 360} {
		t.Run(colours, func(t *testing.T) {
			t.Parallel()
			b := s.apart(t).tab(t, Look(width, 900, colours, true))
			b.wrong = true
			for _, path := range append(s.paths(), "/jobs?args=wrong", "/logs?q=%28wrong", "/nothing") {
				b.run(chromedp.Navigate(b.url+path), Until(`document.readyState === "complete"`))
				if path == "/jobs/"+s.Import.String() {
					b.sees("eu.example.com")
				}
				b.inspect(axe, "html", fmt.Sprintf("%s, %s, %d wide", path, colours, width))
			}
			b.open("/jobs")
			b.click(".everyone", "All that match")
			b.inspect(axe, ".toolbar", "an open menu, "+colours)
			b.click(".everyone", "Move all to a queue")
			b.sees("to another queue")
			b.inspect(axe, "html", "a question, "+colours)
			b.open("/jobs")
			b.run(chromedp.Click("#help"))
			b.inspect(axe, "html", "the keys, "+colours)
			b.open("/queues")
			b.run(chromedp.KeyEvent("k", chromedp.KeyModifiers(chromedp.ModifierCtrl)), Until(`document.querySelector("#palette").open && document.querySelectorAll("#palette-list li").length > 8`))
			b.inspect(axe, "html", "the palette, "+colours)
			b.run(chromedp.SendKeys("#palette-input", "no such thing"), Until(`document.querySelector("#palette-none").innerText !== ""`))
			b.inspect(axe, "html", "the palette without anything, "+colours)
			b.run(chromedp.Navigate(b.url+"/jobs/"+s.Failed.String()+"/clone"), Until(`document.readyState === "complete"`))
			b.inspect(axe, "html", "a clone, "+colours)
		})
	}
}

// testAxeStates does the same for the pages in the other states, alternating between both color schemes. Of the pages that have lost their server
// only one is checked: they look as before, with a notice.
func (s *stage) testAxeStates(t *testing.T) {
	t.Parallel()
	axe := readAxe(t)
	for i, state := range s.states(t) {
		if state.name == "full" {
			continue
		}
		look := Look(1440, 900, "light", true)
		if i%2 == 0 {
			look = Look(390, 844, "dark", true)
		}
		t.Run(state.name, func(t *testing.T) {
			t.Parallel()
			server := state.serve(t)
			b := s.at(server.URL).tab(t, look)
			b.wrong = true
			for _, path := range state.paths {
				b.load(path)
				if state.away != nil {
					b.lose(state, server)
				}
				b.inspect(axe, "html", path+", "+state.name)
				if state.away != nil {
					state.away(server, false)
					break
				}
			}
		})
	}
}

const inspection = `axe.run(%q, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}).then(r =>
	r.violations.map(v => v.id + " (" + v.help + "): " + v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + " " + n.any.map(a => a.message).join("; ")).join("\n    ")))`

func (b *tab) inspect(axe, within, where string) {
	b.Helper()
	b.run(Do(axe))
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	found, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](fmt.Sprintf(inspection, within), chromedp.EvalAwaitPromise))
	if err != nil {
		b.Fatal(err)
	}
	for _, text := range found {
		b.Errorf("%s: %s", where, text)
	}
}
