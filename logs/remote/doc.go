// Package remote searches records over HTTP: [Handler] serves a [storage.Finder], and a [Client] is one.
//
// Records are sent as lines of JSON, as [logs.Record.MarshalJSON] writes them. Between them there are lines without a member "time":
//
//	(an empty line)           a heartbeat: nothing new was found for a while
//	{"after":{"api":17}}      the first line of a follow: for each service the number after which the follow begins
//	{"missed":"…"}            in a follow: the client was too slow and has missed some records. The follow continues
//	{"counts":{"by":[], …}}   in a count: a [storage.Counts], before the end
//	{"error":"…"}             the last line: the response is incomplete because of this error
//	{"end":{"records":120}}   the last line: the response is complete
//
// A response that ends in any other way was cut off.
package remote

import (
	"encoding/json"

	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// Prefix is the path at which a server mounts the [Handler]. The paths below it, all with the method GET, and their parameters are:
//
//	find       filter, since, until, limit, newest=1
//	follow     filter, after={"api":17}: see [storage.Query]; with resume=1, services that after does not name begin at their first record
//	count      filter, since, until, by (repeated, with a key each), every=5m: see [storage.CountBy]
//	histogram  filter, since, until, n
//	services
//	stats
//
// Times are in RFC 3339.
const Prefix = "/logs/"

// A control is a line that is not a record.
type control struct {
	After  map[string]uint64 `json:"after,omitzero"`
	Missed string            `json:"missed,omitempty"`
	Counts *storage.Counts   `json:"counts,omitempty"`
	Error  string            `json:"error,omitempty"`
	End    *end              `json:"end,omitempty"`
}

type end struct {
	Records int64 `json:"records"`
}

// The bounds of a line, and of a response that is not a stream, in bytes.
const (
	maxLine   = 8 * logs.MaxRecord // escapes in JSON make a text up to six times as long
	maxAnswer = 64 << 20
)

func (c *control) line() []byte {
	b, err := json.Marshal(c)
	if err != nil {
		panic("remote: " + err.Error()) // cannot happen: c has only values that JSON can represent
	}
	return b
}
