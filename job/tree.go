package job

import "time"

// MaxTree is the maximum size of the JSON of a Tree, in bytes.
const MaxTree = 64 << 10

// A Tree is a snapshot of what an attempt was doing, which its worker takes while somebody watches the job, see Store.Watch.
type Tree struct {
	Job     ID        `json:"job"`
	Attempt int       `json:"attempt"`
	At      time.Time `json:"at"` // when it was reported, by the clock of the store
	// JSON is that of an inspect.Node: the scope of the handler, with the tasks below it and what each of them waits for, as
	// package live and `meanwhile top` show it, under the same numbers. If a tree is too large, the shallow tasks are kept; what
	// is left out is counted in the field "more" of the task above. A text of more than 1 kB is cut, and ends in "…".
	JSON []byte `json:"tree"`
}
