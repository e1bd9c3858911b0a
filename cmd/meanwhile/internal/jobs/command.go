// Package jobs is the command "meanwhile jobs".
package jobs

// A Command is what "meanwhile jobs" was asked for, as kong fills it. The flags are those of all its commands.
type Command struct {
	Target
	JSON bool `name:"json" help:"Print JSON, an object a line; times are in nanoseconds."`

	Enqueue  Enqueue  `cmd:"" help:"Enqueue a job, or one for each line of a file."`
	List     List     `cmd:"" help:"List jobs, newest first."`
	Show     Show     `cmd:"" help:"Show everything about jobs."`
	Retry    Retry    `cmd:"" help:"Run finished jobs again, and queued ones at once."`
	Cancel   Cancel   `cmd:"" help:"Cancel queued and running jobs."`
	Discard  Discard  `cmd:"" help:"Give queued jobs up."`
	Delete   Delete   `cmd:"" help:"Delete jobs that are not running."`
	Move     Move     `cmd:"" help:"Move queued jobs to another queue."`
	Priority Priority `cmd:"" help:"Change the priority of queued jobs."`
	Schedule Schedule `cmd:"" help:"Change when queued jobs are due."`
	Queues   Queues   `cmd:"" help:"List the queues."`
	Pause    Pause    `cmd:"" help:"Pause queues or crons."`
	Resume   Resume   `cmd:"" help:"Let paused queues or crons go on."`
	Crons    Crons    `cmd:"" help:"List the crons."`
	Workers  Workers  `cmd:"" help:"List the workers."`
	Stats    Stats    `cmd:"" help:"Count jobs by queue and state."`
	Prune    Prune    `cmd:"" help:"Delete old finished jobs."`
	Migrate  Migrate  `cmd:"" help:"Make the tables of the store, or change their version."`
}

// Help is the text above the flags.
func (*Command) Help() string {
	return `Looks at the jobs of a store and acts on them, on any store and whether or not workers run.

Jobs are named by their IDs, or by what they have in common: --kind, --queue, --state and so on, of which all have to be
true. What acts on jobs that were not named one by one says how many they are and asks first; --yes answers.

Exit codes: 0 done, 1 not done, 2 not understood, 130 interrupted.`
}
