package job

// A Command is a request to a worker, see Store.SendCommand. A command about something that has ended does nothing.
type Command struct {
	Do   CommandKind `json:"do"`
	Job  ID          `json:"job,omitzero"`   // of CommandCancelTask
	Task string      `json:"task,omitempty"` // of CommandCancelTask: the ID of the task in the Tree of the job, in digits
	Cron string      `json:"cron,omitempty"` // of CommandTick
}

// A CommandKind is what a [Command] asks a worker to do.
type CommandKind string

const (
	// CommandQuiet stops the worker from claiming jobs. Its running jobs continue, its crons tick, and Run does not return.
	CommandQuiet CommandKind = "quiet"
	// CommandResume ends CommandQuiet.
	CommandResume CommandKind = "resume"
	// CommandStop stops the worker gracefully, as canceling the ctx of Run does: Run returns nil.
	CommandStop CommandKind = "stop"
	// CommandCancelTask cancels a task of a job and all tasks below it, as Node.Cancel does. The job itself is not canceled: how to react is up to its
	// handler.
	CommandCancelTask CommandKind = "cancel task"
	// CommandTick makes a cron of the worker tick now, out of turn. A second such tick in the same second does not count, nor does a
	// tick of a paused cron.
	CommandTick CommandKind = "tick"
)
