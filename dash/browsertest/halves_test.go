package browsertest

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// halves sends the pages of a handler in two parts, as a slow network does, with a pause before a text, in which a browser has time to paint. It may
// leave out another text.
type halves struct {
	http.Handler
	cut, without string
}

func (h *halves) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Accept") == "text/event-stream" || strings.HasPrefix(r.URL.Path, "/static/") {
		h.Handler.ServeHTTP(w, r)
		return
	}
	r.Header.Del("Accept-Encoding")
	whole := httptest.NewRecorder()
	h.Handler.ServeHTTP(whole, r)
	for name, values := range whole.Header() {
		w.Header()[name] = values
	}
	text := whole.Body.String()
	if h.without != "" {
		text = strings.ReplaceAll(text, h.without, "")
	}
	first, second, found := strings.Cut(text, h.cut)
	if !found {
		http.Error(w, "the page has no "+h.cut, http.StatusInternalServerError)
		return
	}
	_, _ = w.Write([]byte(first))
	_ = http.NewResponseController(w).Flush()
	time.Sleep(time.Second)
	_, _ = w.Write([]byte(h.cut + second))
}

// TestHalves: nothing on a page moves while the rest of it is still loading: a browser paints it when it is complete. The head of the page does not
// move in browsers that paint earlier, either.
func TestHalves(t *testing.T) {
	t.Parallel()
	browser, stop, err := Start(t.Context())
	if errors.Is(err, ErrNoBrowser) {
		testenv.Missing(t, "%v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop) // after its subtests, which run in parallel
	h := dash.New(dash.Config{Store: memory.New(), SignOut: "/out", ReadOnly: func(*http.Request) bool { return true }})
	const live, theme, help, waits = `<button type="button" id="live"`, `<form method="post" action="/theme"`, `<button type="button" id="help"`, ` blocking="render"`
	for i, test := range []halves{{h, live, ""}, {h, "</h1>", ""}, {h, "</main>", ""}, {h, live, waits}, {h, theme, waits}, {h, help, waits}} {
		for _, width := range []int64{390, 1440} {
			t.Run(fmt.Sprintf("%d, %d wide", i, width), func(t *testing.T) {
				t.Parallel()
				server := httptest.NewServer(&test)
				defer server.Close()
				defer server.CloseClientConnections()
				b := (&stage{browser: browser, url: server.URL}).tab(t, Look(width, 900, "light", true))
				b.wrong = true // its server stops while the page is live
				b.load("/queues")
				b.run(Until(`performance.getEntriesByName("first-paint").length > 0`))
				const early = `performance.getEntriesByName("first-paint")[0].startTime < performance.getEntriesByType("navigation")[0].responseEnd`
				if test.without == "" && eval[bool](b, early) {
					t.Errorf("it is painted when all before %s is there", test.cut)
				}
				b.still("a page that comes in two parts")
			})
		}
	}
}
