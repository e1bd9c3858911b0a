// Package remote searches records over HTTP: [Handler] serves a Finder, and a [Client] is one.
//
// Records come as lines of JSON, as a Record writes itself. Between them, with no member "time", are
//
//	(an empty line)           a heartbeat: nothing new was found for a while
//	{"after":{"api":17}}      first of a follow: for each service the number after which it begins
//	{"missed":"…"}            of a follow: the client was too slow, and does not get some records. The follow continues
//	{"counts":{"by":[], …}}   of a count: a [storage.Counts], before the end
//	{"error":"…"}             last: the response is incomplete because of this error
//	{"end":{"records":120}}   last: the response is complete
//
// A response that ends in any other way was cut off.
package remote

import (
	"encoding/json"

	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// Prefix is the path at which a server mounts the [Handler]. The paths below it, which are all for GET, and their parameters are:
//
//	find       filter, since, until, limit, newest=1
//	follow     filter, after={"api":17}: see [storage.Query]; with resume=1 from the first record of services that after does not name
//	count      filter, since, until, by (a key each), every=5m: see [storage.CountBy]
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
		panic("remote: " + err.Error()) // cannot happen: it has only numbers and strings
	}
	return b
}
