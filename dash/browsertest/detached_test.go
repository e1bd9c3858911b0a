package browsertest

import (
	"context"
	"errors"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/internal/detach"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// TestDetached: a browser receives updates from answers that are detached from net/http, as those of "meanwhile serve" are.
func TestDetached(t *testing.T) {
	t.Parallel()
	browser, stop, err := Start(t.Context())
	if errors.Is(err, ErrNoBrowser) {
		testenv.Missing(t, "%v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	var streams sync.WaitGroup
	defer streams.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	store, detached := memory.New(), make(chan struct{}, 100)
	start := func(run func()) {
		detached <- struct{}{}
		streams.Go(run)
	}
	server := httptest.NewServer(detach.Wrap(ctx, start, dash.New(dash.Config{Store: store})))
	defer server.Close()
	defer server.CloseClientConnections()
	b := (&stage{browser: browser, url: server.URL}).tab(t, desk())
	b.wrong = true // its server stops while the page is live
	b.load("/queues")
	b.run(Until(`document.querySelector("#live.is-live")`))
	j, err := job.New("mail", []byte(`{}`), job.Queue("zebra"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Insert(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	b.run(Until(`document.body.innerText.includes("zebra")`))
	if len(detached) == 0 {
		t.Error("the answer was not detached")
	}
}
