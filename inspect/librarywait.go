package inspect

import "strings"

// A libraryWait describes what a function of a library waits for when it waits for a channel or a condition of its own.
type libraryWait struct {
	reason, on string
	wrapped    bool // the function that called it may be more specific
}

const (
	httpAnswer     = "HTTP answer"
	httpConnection = "HTTP connection" // being established, or the pool is at capacity
	httpPool       = "HTTP connection pool"
)

// libraryWaits has the known functions. The names are those of Go 1.26 and 1.27, without type arguments and nested functions. Package http2
// exists in several places, see libraryName. internal/stuck has a case for each function.
var libraryWaits = map[string]libraryWait{
	"net/http.(*Transport).getConn":            {reason: "network", on: httpConnection},
	"net/http.(*persistConn).roundTrip":        {reason: "network", on: httpAnswer},
	"net/http.(*Transport).dialConn":           {reason: "network", on: httpConnection},
	"net/http.(*persistConn).addTLS":           {reason: "network", on: httpConnection},
	"http2.(*ClientConn).roundTrip":            {reason: "network", on: httpAnswer},
	"http2.(*pipe).Read":                       {reason: "network", on: "read"}, // the body of a request or a response
	"http2.(*serverConn).writeDataFromHandler": {reason: "network", on: "write"},
	"http2.(*serverConn).writeHeaders":         {reason: "network", on: "write"},

	"os/exec.(*Cmd).awaitGoroutines": {reason: "file", on: "pipes of a process that has ended"},

	"database/sql.(*DB).conn":                              {reason: "database pool"},
	"golang.org/x/sync/semaphore.(*Weighted).Acquire":      {reason: "semaphore", wrapped: true},
	"github.com/jackc/puddle/v2.(*Pool).initResourceValue": {reason: "select", on: "new resource", wrapped: true},
	"github.com/jackc/puddle/v2.(*Pool).acquire":           {wrapped: true},
	"github.com/jackc/puddle/v2.(*Pool).Acquire":           {wrapped: true},
	"github.com/jackc/pgx/v5/pgxpool.(*Pool).Acquire":      {reason: "database pool"},

	"github.com/jackc/pgx/v5/pgconn/internal/bgreader.(*BGReader).Read": {reason: "network", on: "read"},
}

// http2Homes are the prefixes of names in package http2: in Go 1.26, in Go 1.27, and in golang.org/x/net.
var http2Homes = []string{"net/http.(*http2", "net/http/internal/http2.(*", "golang.org/x/net/http2.(*"}

// libraryName returns the name under which libraryWaits has a function.
func libraryName(function string) string {
	name, _, _ := strings.Cut(strings.ReplaceAll(function, "[...]", ""), ".func")
	for _, home := range http2Homes {
		if rest, ok := strings.CutPrefix(name, home); ok {
			return "http2.(*" + rest
		}
	}
	return name
}

// dialsHTTP has the functions in which a transport of net/http establishes a connection, possibly for another request than its caller's.
var dialsHTTP = map[string]bool{"net/http.(*Transport).dialConnFor": true, "net/http.(*Transport).dialConn": true}

// narrow makes a wait for a connection of net/http more specific. If no connection is being established in the whole process, the task waits for
// one that is in use.
func (w *Wait) narrow(dialing bool) {
	if w.On == httpConnection && !dialing {
		w.For, w.On = httpPool, ""
	}
}
