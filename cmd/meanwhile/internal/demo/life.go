package demo

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// Activities after the table, so that the dashboard has something to show.
const (
	refreshEach   = 5 * time.Second
	refreshed     = 20 // documents
	translateEach = 3 * time.Second
	rebuildTime   = 45 * time.Second
	rebuiltIndex  = "go-rebuilt"
)

// A Part is the args of a refresh job: a range of documents.
type Part struct {
	From  int `json:"from"`
	Count int `json:"count"`
}

// A Translation is the args of a translation job.
type Translation struct {
	Document string `json:"document"`
	Language string `json:"language"`
}

// A Rebuilding is the args of a rebuild job.
type Rebuilding struct {
	Index string `json:"index"`
}

// The kinds of jobs.
var (
	Refresh   = job.Define[Part]("documents.refresh", job.Queue("search"))
	Translate = job.Define[Translation]("document.translate", job.Queue("translations"), job.MaxAttempts(3), job.Backoff(soon))
	Rebuild   = job.Define[Rebuilding]("index.rebuild", job.Queue("search"), job.UniqueArgs(), job.MaxAttempts(3))
)

// soon is a backoff that is short enough for a user who is watching.
func soon(attempt int, _ error) time.Duration { return time.Duration(attempt) * 10 * time.Second }

// goOn runs the activities until ctx is canceled.
func (d *demo) goOn(ctx context.Context) error {
	if _, err := Rebuild.Enqueue(ctx, d.store, Rebuilding{rebuiltIndex}); err != nil {
		return err
	}
	h := &handlers{d.documents, d.client, slog.New(job.LogHandler(slog.NewTextHandler(io.Discard, nil))), rebuildTime}
	return job.NewWorker(d.store, job.Config{
		Name: "demo", Grace: -1, Logger: quiet,
		Crons: []job.Cron{
			{Name: "refresh", Spec: "@every " + refreshEach.String(), CatchUp: job.CatchUpNone, Job: d.refreshAt},
			{Name: "translate", Spec: "@every " + translateEach.String(), CatchUp: job.CatchUpNone, Job: d.translateAt},
			{Name: "rebuild", Spec: "@every 1m", CatchUp: job.CatchUpNone, Job: Rebuild.Maker(Rebuilding{rebuiltIndex})},
		},
	}, Refresh.Handle(h.refresh), Translate.Handle(h.translate), Rebuild.Handle(h.rebuild)).Run(ctx)
}

// refreshAt returns the job for the documents to refresh at a tick.
func (d *demo) refreshAt(tick time.Time) (*job.Job, error) {
	turn := int(tick.Unix() / int64(refreshEach.Seconds()))
	return Refresh.New(Part{From: turn * refreshed % len(d.documents), Count: refreshed})
}

func (d *demo) translateAt(tick time.Time) (*job.Job, error) {
	languages := []string{"Deutsch", "Esperanto", "日本語"}
	turn := int(tick.Unix() / int64(translateEach.Seconds()))
	return Translate.New(Translation{d.documents[turn%len(d.documents)].ID(), languages[turn%len(languages)]})
}
