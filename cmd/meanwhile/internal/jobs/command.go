// Package jobs is the command "meanwhile jobs".
package jobs

import "github.com/alecthomas/kong"

// A Command has the flags of "meanwhile jobs", filled in by kong. All its commands have these flags.
type Command struct {
	Target
	JSON bool `name:"json" help:"Print JSON, one object per line; durations are in nanoseconds."`

	Enqueue  Enqueue  `cmd:"" help:"Enqueue a job, or one for each line of a file."`
	List     List     `cmd:"" help:"List jobs, newest first."`
	Show     Show     `cmd:"" help:"Show jobs in full detail."`
	Retry    Retry    `cmd:"" help:"Run finished jobs again, and queued jobs now."`
	Cancel   Cancel   `cmd:"" help:"Cancel queued and running jobs."`
	Discard  Discard  `cmd:"" help:"Discard queued jobs: keep them, but do not run them."`
	Delete   Delete   `cmd:"" help:"Delete jobs that are not running."`
	Move     Move     `cmd:"" help:"Move queued jobs to another queue."`
	Priority Priority `cmd:"" help:"Change the priority of queued jobs."`
	Schedule Schedule `cmd:"" help:"Reschedule queued jobs."`
	Queues   Queues   `cmd:"" help:"List the queues."`
	Limit    Limit    `cmd:"" help:"Show or set how many jobs of a queue run at once, and how fast they start."`
	Pause    Pause    `cmd:"" help:"Pause queues or crons."`
	Resume   Resume   `cmd:"" help:"Resume paused queues or crons."`
	Crons    Crons    `cmd:"" help:"List the crons."`
	Workers  Workers  `cmd:"" help:"List the workers."`
	Audit    Audit    `cmd:"" help:"Show who did what, and when."`
	Stats    Stats    `cmd:"" help:"Count jobs by queue and state."`
	Prune    Prune    `cmd:"" help:"Delete old finished jobs."`
	Migrate  Migrate  `cmd:"" help:"Create or migrate the tables of the store."`
}

// Help is the text above the flags.
func (*Command) Help() string {
	return `Enqueues, inspects and manages the jobs of a store, SQLite, PostgreSQL or Redis, whether or not workers run.

Select jobs by their IDs, or by filters such as --kind, --queue and --state; a job has to match all filters. A bulk action
reports how many jobs match and asks for confirmation, unless --yes is given.

Exit codes: 0 done, 1 not done, 2 usage error, 130 interrupted.`
}

// AfterApply refuses an empty flag or argument, such as an unset variable: without a filter, a bulk action would change jobs that were not meant.
func (*Command) AfterApply(ctx *kong.Context) error {
	return refuseEmpty(ctx, func(v *kong.Value) bool { return !v.Required }) // required ones are checked by the command, which explains them
}
