package browsertest

import (
	_ "embed"
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"
)

// layoutWidths are the widths of phones, of a window zoomed to 200 %, of laptops and of a large screen.
var layoutWidths = []int64{360, 390, 640, 1024, 1280, 1440, 2560}

// layoutFaults is a JavaScript function that returns what is wrong with the layout of a page.
//
//go:embed layout.js
var layoutFaults string

// testLayout: no page in any state scrolls sideways, shows overlapping or cut texts, or leaves much of a large screen empty, and
// nothing on it moves when it becomes live.
func (s *stage) testLayout(t *testing.T) {
	t.Parallel()
	for _, state := range s.states(t) {
		t.Run(state.name, func(t *testing.T) {
			t.Parallel()
			s.testLayoutOf(t, state)
		})
	}
}

func (s *stage) testLayoutOf(t *testing.T, state state) {
	server := state.serve(t)
	b := s.at(server.URL).tab(t, desk())
	b.wrong = true
	for _, path := range state.paths {
		b.load(path)
		b.still(fmt.Sprintf("%s, %s", path, state.name))
		if state.away != nil {
			b.lose(state, server)
		}
		for _, width := range layoutWidths {
			b.run(resize(width, 900))
			for _, fault := range eval[[]string](b, fmt.Sprintf("(%s)(%d)", layoutFaults, width)) {
				t.Errorf("%s, %s, in a window of %d: %s", path, state.name, width, fault)
			}
			if state.name != "failing" && eval[bool](b, `{const title = document.querySelector(".brand span"); title.scrollWidth > title.clientWidth + 1}`) {
				t.Errorf("%s, %s, in a window of %d: a short title is cut", path, state.name, width)
			}
		}
		b.run(resize(1280, 900))
		if state.away != nil {
			state.away(server, false)
		}
	}
}

// load opens a page, which need not be live, and waits until it is complete and painted.
func (b *tab) load(path string) {
	b.Helper()
	b.run(chromedp.Navigate(b.url+path), Until(`document.readyState === "complete" && (!document.querySelector("#live") || document.querySelector("#live.is-live"))`))
	b.drawn()
	if path == "/jobs/"+b.Import.String() {
		b.run(Until(`document.querySelectorAll(".task").length > 8 || document.querySelector("main > .empty")`))
	}
}

// lose makes the source of a live page unavailable, and waits until the page reports that.
func (b *tab) lose(state state, server *httptest.Server) {
	b.Helper()
	state.away(server, true)
	b.run(Until(`document.querySelector("#live.is-lost") || !document.querySelector("#trouble").hidden`))
}
