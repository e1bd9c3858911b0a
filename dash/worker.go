package dash

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// A workerRow is a worker in the list.
type workerRow struct {
	job.WorkerInfo
	Gone bool // it shadows the method, for templates
	Part int  // used part of its concurrency, in thousandths
}

func (h *handler) workers(ctx context.Context, _ *view) (*page, error) {
	rows, err := h.workerRows(ctx)
	return &page{Title: "Workers", Section: "workers", Data: rows}, err
}

func (h *handler) workerRows(ctx context.Context) ([]workerRow, error) {
	workers, err := h.cache.workers.get(ctx)
	if err != nil {
		return nil, err
	}
	rows := make([]workerRow, len(workers))
	for i, w := range workers {
		rows[i] = workerRow{WorkerInfo: w, Gone: w.Gone(time.Now())}
		if w.Concurrency > 0 {
			rows[i].Part = min(w.Running*1000/w.Concurrency, 1000)
		}
	}
	return rows, nil
}

// goneWorker returns the worker with a name if it is gone, or nil.
func (h *handler) goneWorker(ctx context.Context, name string) (*job.WorkerInfo, error) {
	workers, err := h.cache.workers.get(ctx)
	if err != nil {
		return nil, err
	}
	for _, w := range workers {
		if w.Name == name && w.Gone(time.Now()) {
			return &w, nil
		}
	}
	return nil, nil
}

// confirmWorker asks whether to stop a worker.
func (h *handler) confirmWorker(_ context.Context, v *view) (*page, error) {
	if v.ReadOnly {
		return nil, refuse(http.StatusForbidden, "You have read-only access.")
	}
	if v.Query.Get("action") != string(job.CommandStop) {
		return nil, refuse(http.StatusBadRequest, "%.40q is not an action on workers that needs to be confirmed.", v.Query.Get("action"))
	}
	name := clip(v.Query.Get("worker"), job.MaxKey)
	return &page{Title: "Stop a worker", Section: "workers", frozen: true, Data: question{
		Text: "Stop worker " + name + "?", Verb: "Stop", Danger: true, To: "/workers", Back: "/workers",
		Note:   "It claims no more jobs, gives those that run its grace to end, and releases the others. It cannot be started from here.",
		Hidden: [][2]string{{"action", string(job.CommandStop)}, {"worker", name}},
	}}, nil
}

func (h *handler) workerAction(ctx context.Context, r *http.Request, done *job.AuditEntry) (string, error) {
	command := job.CommandKind(r.PostForm.Get("action"))
	switch command {
	case job.CommandQuiet, job.CommandResume, job.CommandStop:
		name := r.PostForm.Get("worker")
		*done = job.AuditEntry{Action: string(command) + " worker", Target: name, Changed: 1}
		return "/workers?did-text=" + string(command), h.sendCommand(ctx, name, job.Command{Do: command})
	}
	return "", refuse(http.StatusBadRequest, "%.40q is not an action on workers.", command)
}

// sendCommand sends a worker a command.
func (h *handler) sendCommand(ctx context.Context, worker string, o job.Command) error {
	err := h.Store.SendCommand(ctx, worker, o)
	if errors.Is(err, job.ErrNoWorker) {
		return refuse(http.StatusNotFound, "There is no worker %.130q any more.", worker)
	}
	return err
}
