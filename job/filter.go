package job

import "time"

// A Filter selects jobs. The zero value selects all; each field that is set narrows it. An empty list counts as not set, but for IDs: a list of no
// IDs that is not nil selects no job.
type Filter struct {
	IDs    []ID
	Kinds  []string
	Queues []string
	States []State // views included
	Worker string  // that claimed it last
	// CreatedAfter and CreatedBefore bound when the job was created, by its ID.
	CreatedAfter, CreatedBefore time.Time
	// FinishedBefore is for finished jobs only; others do not match when it is set.
	FinishedBefore time.Time
	UniqueKey      string // whole, see Job.UniqueKey

	Meta map[string]string // entries that the Meta of the job must have

	// These two are checked exactly by [List] and by actions; for Store.List they are hints.
	Args  []ArgsMatch
	Error string // part of the text of a failure, regardless of case

	Before ID  // only older IDs, to continue after a page; zero for the newest
	Limit  int // the maximum number of jobs; must be positive for Store.List
}

// An ArgsMatch matches args that have a value at a path of object keys and array indexes, joined by dots, such as
// "user.id" or "urls.0". A string in the args is compared with Value as it is, other values by their JSON text.
type ArgsMatch struct{ Path, Value string }
