package job

// A Command is left for a worker by somebody who looks at it from outside, see Store.SendCommand. A worker follows what it can: a
// command about something that has ended meanwhile does nothing.
type Command struct {
	Do   CommandKind `json:"do"`
	Job  ID          `json:"job,omitzero"`   // of CommandCancelTask
	Task string      `json:"task,omitempty"` // of CommandCancelTask: the ID of the task in the Tree of the job, in digits
	Cron string      `json:"cron,omitempty"` // of CommandTick
}

// A CommandKind says what a worker is to do.
type CommandKind string

const (
	// CommandQuiet has the worker claim no more. What it runs goes on, its crons tick, and it stays.
	CommandQuiet CommandKind = "quiet"
	// CommandResume ends CommandQuiet.
	CommandResume CommandKind = "resume"
	// CommandStop ends the worker gracefully, as the end of the ctx of Run does: Run returns nil.
	CommandStop CommandKind = "stop"
	// CommandCancelTask cancels a task of a job and all below it, as Node.Cancel does. What the handler makes of it is its own
	// matter: the job is not canceled.
	CommandCancelTask CommandKind = "cancel task"
	// CommandTick has a cron of the worker tick now, out of turn. As with any tick, a second one in the same second does not count,
	// nor does one of a cron that is paused.
	CommandTick CommandKind = "tick"
)
