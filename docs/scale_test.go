package docs_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/jobtest"
	_ "github.com/meanwhile-go/meanwhile/job/sqlite"
)

// openAll joins the stores of several URLs.
func openAll(ctx context.Context, urls []string) (job.Store, error) {
	stores := make([]job.Store, len(urls))
	for i, url := range urls {
		s, err := job.Open(ctx, url)
		if err != nil {
			return nil, err
		}
		stores[i] = s
	}
	return job.Join(stores...), nil
}

func TestJoinOfTheGuide(t *testing.T) {
	folder := t.TempDir()
	var urls []string
	for i := range 3 {
		urls = append(urls, "sqlite:"+filepath.Join(folder, fmt.Sprint(i, ".db")))
	}
	store, err := openAll(t.Context(), urls)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for range 20 {
		if _, err := SendMail.Enqueue(t.Context(), store, Mail{User: 7}); err != nil {
			t.Fatal(err)
		}
	}
	done := jobtest.Drain(t, store, SendMail.Handle(func(context.Context, Mail) error { return nil }))
	if done.Completed != 20 {
		t.Errorf("%d jobs completed, want 20", done.Completed)
	}
	if _, err := openAll(t.Context(), []string{urls[0], "unknown:"}); err == nil {
		t.Error("an unknown store was opened")
	}
}

func TestScaleMessages(t *testing.T) {
	defer func() {
		explains(t, "scale.md", fmt.Sprint(recover()), "does not answer since", "insert jobs, of which those for other stores are stored")
	}()
	job.Join()
}

// TestScaleFigures finds the figures of the guide in the benchmarks and the sizes that they are taken from.
func TestScaleFigures(t *testing.T) {
	for _, figure := range []string{"64,522", "236,810", "92,046", "18,916", "52,621", "1,077 bytes"} {
		for _, guide := range []string{"scale.md", "benchmarks-method.md"} {
			explains(t, guide, figure)
		}
	}
	rows := table(t, "stores.md", "| | queued | completed |")
	if got := strings.Join(rows[len(rows)-1], " "); !strings.Contains(got, "360") {
		t.Errorf("a completed job of PostgreSQL takes %s, and scale.md says 360", got)
	}
}
