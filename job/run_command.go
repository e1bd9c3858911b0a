package job

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/internal/trees"
)

var errTaskCanceled = errors.New("somebody canceled this task of the job")

// handleCommands executes the commands that were sent to the worker.
func (r *run) handleCommands(ctx context.Context, commands []Command) {
	var tasks []Command
	for _, o := range commands {
		r.config.Logger.Info("job: a command from outside", "command", o)
		switch o.Do {
		case CommandQuiet:
			r.quiet.Store(true)
		case CommandResume:
			r.quiet.Store(false)
			signal(r.capacityFreed)
		case CommandStop:
			r.halt()
		case CommandCancelTask:
			tasks = append(tasks, o)
		case CommandTick:
			r.tickNow(ctx, o.Cron)
		default:
			r.config.Logger.Warn("job: a command that this version does not know: it does nothing", "do", string(o.Do))
		}
	}
	if len(tasks) > 0 {
		r.cancelTasks(tasks)
	}
}

// cancelTasks cancels tasks of jobs that run here, with one snapshot of the tree for all.
func (r *run) cancelTasks(commands []Command) {
	var jobs []*Job
	for _, o := range commands {
		if e := r.holding(o.Job); e != nil {
			jobs = append(jobs, e.job)
		}
	}
	if len(jobs) == 0 {
		return
	}
	scopes := scopesOf(inspect.Tree(r.ctx), jobs)
	for _, o := range commands {
		id, err := strconv.ParseUint(o.Task, 10, 32)
		scope := scopes[o.Job]
		if err != nil || scope == nil {
			continue
		}
		if n := trees.Find([]inspect.Node{*scope}, func(n *inspect.Node) bool { return n.ID == uint32(id) }); n != nil {
			n.Cancel(errTaskCanceled)
		}
	}
}

// tickNow makes a cron of this worker tick out of turn. It does so in a task: the store may take long, and the leases must be renewed in the
// meantime. The tick is stored with the end of its second as its time. So it counts even if the cron has ticked in turn, or was resumed, in the
// same second, but not if it has ticked out of turn.
func (r *run) tickNow(ctx context.Context, name string) {
	for _, c := range r.load.Load().crons {
		if c.Name != name {
			continue
		}
		meanwhile.Go(ctx, func(ctx context.Context) error {
			at := r.clock.at(time.Now()).Truncate(time.Second)
			if err := r.tick(ctx, c, at, at.Add(time.Second-time.Microsecond)); err != nil && ctx.Err() == nil {
				r.config.Logger.Error("job: a cron could not tick now", "cron", name, "error", err)
			}
			return nil
		}, meanwhile.Name("tick "+name))
	}
}
