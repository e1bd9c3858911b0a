package job

// A Command is left for a worker from outside, see Store.SendCommand. A worker follows the commands that it can: a command about
// something that has ended meanwhile does nothing.
type Command struct {
	Do   CommandKind `json:"do"`
	Job  ID          `json:"job,omitzero"`   // of CommandCancelTask
	Task string      `json:"task,omitempty"` // of CommandCancelTask: the ID of the task in the Tree of the job, in digits
	Cron string      `json:"cron,omitempty"` // of CommandTick
}

// A CommandKind is what a worker is to do.
type CommandKind string

const (
	// CommandQuiet stops the worker from claiming jobs. Its running jobs continue, its crons tick, and it stays.
	CommandQuiet CommandKind = "quiet"
	// CommandResume ends CommandQuiet.
	CommandResume CommandKind = "resume"
	// CommandStop ends the worker gracefully, as the end of the ctx of Run does: Run returns nil.
	CommandStop CommandKind = "stop"
	// CommandCancelTask cancels a task of a job and all below it, as Node.Cancel does. How the handler reacts is up to the
	// handler: the job is not canceled.
	CommandCancelTask CommandKind = "cancel task"
	// CommandTick makes a cron of the worker tick now, out of turn. A second such tick in the same second does not count, nor does a
	// tick of a paused cron.
	CommandTick CommandKind = "tick"
)
