package demo

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/demo/corpus"
	"github.com/meanwhile-go/meanwhile/job"
)

func TestRefreshAndRebuild(t *testing.T) {
	d, _ := newDemo(t, 50, 0, nil)
	var logged bytes.Buffer
	h := &handlers{d.documents, d.client, slog.New(slog.NewTextHandler(&logged, nil)), time.Millisecond}
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		return errors.Join(h.rebuild(ctx, Rebuilding{"go"}), h.refresh(ctx, Part{From: 10, Count: 5}), h.refresh(ctx, Part{From: 48, Count: 20}), h.reportProgress(ctx, "go"))
	})
	if err != nil {
		t.Fatal(err)
	}
	versions := d.versions(t, "go")
	for i, document := range d.documents {
		want := 1
		if i >= 10 && i < 15 || i >= 48 {
			want = 2
		}
		if got := versions[document.ID()]; got != want {
			t.Errorf("document %d: it was indexed %d times, want %d", i, got, want)
		}
	}
	for _, want := range []string{"rebuilding", "packages=", "rebuilt documents=50", "so far"} {
		if !strings.Contains(logged.String(), want) {
			t.Errorf("%q was not logged: %s", want, &logged)
		}
	}
}

// TestHandlersFail: handlers return the errors of the search engine.
func TestHandlersFail(t *testing.T) {
	d, _ := newDemo(t, 5, 0, nil)
	h := &handlers{d.documents, d.client, quiet, time.Millisecond}
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error { return h.refresh(ctx, Part{Count: 5}) })
	if err == nil || !strings.Contains(err.Error(), "no such index [go]") {
		t.Errorf("got %v", err)
	}
	err = meanwhile.Run(t.Context(), func(ctx context.Context) error { return h.rebuild(ctx, Rebuilding{"Upper"}) })
	if err == nil || !strings.Contains(err.Error(), "Invalid index name") {
		t.Errorf("got %v", err)
	}
}

// TestTranslate: some calls fail, and others succeed.
func TestTranslate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &handlers{}
		failed, succeeded := 0, 0
		for range 200 {
			switch err := h.translate(t.Context(), Translation{Document: "io.Reader"}); {
			case err == nil:
				succeeded++
			case errors.Is(err, errOverloaded) && strings.HasPrefix(err.Error(), "translate io.Reader: "):
				failed++
			default:
				t.Fatal(err)
			}
		}
		if failed == 0 || succeeded == 0 {
			t.Errorf("%d failed, %d succeeded", failed, succeeded)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := h.translate(ctx, Translation{}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

// TestTicks creates the jobs for each tick of a day: all of their documents exist, and each document is refreshed.
func TestTicks(t *testing.T) {
	d := &demo{documents: make([]corpus.Document, 50)}
	seen := map[int]bool{}
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for tick := begin; tick.Before(begin.Add(24 * time.Hour)); tick = tick.Add(refreshEach) {
		j, err := d.refreshAt(tick)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Refresh.Args(j)
		if err != nil || p.From < 0 || p.From >= 50 || p.Count != refreshed {
			t.Fatalf("got %+v, %v", p, err)
		}
		seen[p.From] = true
		if j, err = d.translateAt(tick); err != nil || j.Queue != "translations" || j.MaxAttempts != 3 {
			t.Fatalf("got %+v, %v", j, err)
		}
	}
	if len(seen) != 5 { // 0, 20, 40, 10, 30
		t.Errorf("got turns %v", seen)
	}
	if soon(1, nil) >= soon(2, nil) || soon(2, nil) > time.Minute {
		t.Errorf("got %v, then %v", soon(1, nil), soon(2, nil))
	}
}

func TestChunks(t *testing.T) {
	var documents []corpus.Document
	for _, name := range strings.Fields("a a b c c c") {
		documents = append(documents, corpus.Document{Package: name})
	}
	var got []int
	for part := range chunks(documents) {
		got = append(got, len(part))
	}
	if want := []int{2, 1, 3}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for range chunks(documents) {
		break
	}
	for range chunks(nil) {
		t.Error("got a refresh job without documents")
	}
}

// TestGoOn runs the demo's jobs until it is stopped during a rebuild, which is then released.
func TestGoOn(t *testing.T) {
	writing := make(chan struct{}, 100)
	d, _ := newDemo(t, 20, 0, func(r *http.Request) {
		if strings.HasPrefix(r.URL.Path, enginePath+rebuiltIndex+"/_doc/") {
			writing <- struct{}{}
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := meanwhile.Run(ctx, func(ctx context.Context) error {
		worked := meanwhile.Go(ctx, d.goOn)
		<-writing
		for begun := time.Now(); time.Since(begun) < 20*time.Second; { // in the meantime the worker registers its crons
			if crons, err := d.store.Crons(ctx); err != nil || len(crons) == 3 {
				break
			}
			if err := meanwhile.Sleep(ctx, time.Millisecond); err != nil {
				return err
			}
		}
		cancel()
		_, err := worked.Wait(context.WithoutCancel(ctx))
		return err
	})
	if err != nil {
		t.Error(err)
	}
	jobs, err := d.store.List(t.Context(), job.Filter{Kinds: []string{Rebuild.Name()}, Limit: 10})
	if err != nil || len(jobs) != 1 || jobs[0].State != job.Queued || jobs[0].Used() != 0 {
		t.Errorf("got %+v, %v, want one job, released", jobs, err)
	}
	crons, err := d.store.Crons(t.Context())
	if err != nil || len(crons) != 3 {
		t.Errorf("got crons %+v, %v", crons, err)
	}
}
