package job

// An Order is left for a worker by somebody who looks at it from outside, see Store.Order. A worker follows what it can: an
// order that is about something that has ended meanwhile does nothing.
type Order struct {
	Do   OrderKind `json:"do"`
	Job  ID        `json:"job,omitzero"`   // of OrderCancelTask
	Task string    `json:"task,omitempty"` // of OrderCancelTask: the ID of the task in the Tree of the job, in digits
	Cron string    `json:"cron,omitempty"` // of OrderTick
}

// An OrderKind says what a worker is to do.
type OrderKind string

const (
	// OrderQuiet has the worker claim no more. What it runs goes on, its crons tick, and it stays.
	OrderQuiet OrderKind = "quiet"
	// OrderResume ends OrderQuiet.
	OrderResume OrderKind = "resume"
	// OrderStop ends the worker gracefully, as the end of the ctx of Run does: Run returns nil.
	OrderStop OrderKind = "stop"
	// OrderCancelTask cancels a task of a job and all below it, as Node.Cancel does. What the handler makes of it is its own
	// matter: the job is not canceled.
	OrderCancelTask OrderKind = "cancel task"
	// OrderTick has a cron of the worker tick now, out of turn. As with any tick, a second one in the same second does not count,
	// nor does one of a cron that is paused.
	OrderTick OrderKind = "tick"
)
