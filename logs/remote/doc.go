// Package remote searches records over HTTP: [Handler] serves a Finder, and a [Client] is one.
//
// Records come as lines of JSON, as a Record writes itself. Between them, with no member "time", are
//
//	(nothing)                 the server is there and has found nothing new for a while
//	{"after":{"api":17}}      first of a follow: for each service the number that it begins after
//	{"missed":"…"}            of a follow: what a reader that was too slow does not get. The rest comes
//	{"counts":{"by":[], …}}   of a count: all of a [storage.Counts], before the end
//	{"error":"…"}             last: why there is no more
//	{"end":{"records":120}}   last: this is all of it
//
// A response that ends in any other way was cut off.
package remote

import (
	"encoding/json"

	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// Prefix is where a server mounts the [Handler]; what is below it are its paths, which all are for GET:
//
//	find       filter, since, until, limit, newest=1
//	follow     filter, after={"api":17}: see [storage.Query]; with resume=1 all that is in no service of after is new
//	count      filter, since, until, by (a key each), every=5m: see [storage.CountBy]
//	histogram  filter, since, until, n
//	services
//	stats
//
// Times are in RFC 3339.
const Prefix = "/logs/"

// A control is a line that is no record.
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

// The bounds of a line, and of an answer that is no stream, in bytes.
const (
	maxLine   = 8 * logs.MaxRecord // escapes make a text up to six times as long
	maxAnswer = 64 << 20
)

func (c *control) line() []byte {
	b, err := json.Marshal(c)
	if err != nil {
		panic("remote: " + err.Error()) // it is numbers and texts
	}
	return b
}
