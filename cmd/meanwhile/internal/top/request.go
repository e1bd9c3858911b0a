package top

import (
	"context"
	"errors"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/live"
)

// mostTasks is the number of tasks that are requested from the program.
const mostTasks = 10_000

type requestKind int

const (
	snapshotRequest requestKind = iota
	detail
	cancel
	waits
)

// A request is a request to the program.
type request struct {
	kind requestKind
	task inspect.Node // task whose stack is wanted, or that is to be canceled
}

// An answer is the result of a request.
type answer struct {
	request
	at       time.Time
	snapshot live.Snapshot
	detail   live.Detail
	waits    inspect.WaitProfile
	err      error
}

func (r request) run(ctx context.Context, client *probe.Client, token string) answer {
	a := answer{request: r}
	switch r.kind {
	case snapshotRequest:
		a.snapshot, a.err = client.Snapshot(ctx, mostTasks)
	case detail:
		a.detail, a.err = client.Detail(ctx, r.task.ID)
	case cancel:
		a.err = client.Cancel(ctx, r.task, token)
	case waits:
		a.waits, a.err = client.Waits(ctx)
	}
	a.at = time.Now()
	return a
}

// A requestQueue has the waiting requests. There is never more than one in progress.
type requestQueue struct {
	do       func(request) tea.Cmd
	underway bool
	cancel   *inspect.Node
	detail   *inspect.Node
	waits    bool
	snapshot bool
}

// next sends the next request, unless one is in progress.
func (l *requestQueue) next() tea.Cmd {
	if l.underway {
		return nil
	}
	var r request
	switch {
	case l.cancel != nil:
		r = request{cancel, *l.cancel}
		l.cancel = nil
	case l.detail != nil:
		r = request{detail, *l.detail}
		l.detail = nil
	case l.waits:
		r = request{kind: waits}
		l.waits = false
	case l.snapshot:
		r = request{kind: snapshotRequest}
		l.snapshot = false
	default:
		return nil
	}
	l.underway = true
	return l.do(r)
}

// reason returns in a few words why there was no answer.
func reason(err error) string {
	if failure, ok := errors.AsType[*probe.Failure](err); ok {
		return failure.Reason
	}
	return probe.Printable(err.Error())
}
