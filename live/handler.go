package live

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/internal/trees"
)

// A Config sets which requests a [Handler] answers and what they may do. The zero value answers only this machine and
// cancels nothing.
type Config struct {
	// Remote answers requests that come from other machines, through a proxy, or under a name other than localhost. By
	// default, none of these are answered: see "Access control" above.
	Remote bool

	// CancelToken is the secret that a request must contain to cancel a task: a long random string. White space around it is
	// ignored. The default, "", means that no request can cancel.
	CancelToken string
}

// Handler returns a handler that shows all trees of the process, as the package documentation describes. It can be served at
// any path, and serves requests concurrently. Handler takes a first snapshot, so that tasks that start after the call have
// an age.
func Handler(c Config) http.Handler {
	inspect.Trees()
	return newHandler(c, inspect.Trees)
}

type handler struct {
	remote    bool
	token     token
	origin    http.CrossOriginProtection
	snapshots snapshotCache
	leaks     leakCheck
}

func newHandler(c Config, trees func() []inspect.Node) *handler {
	return &handler{remote: c.Remote, token: newToken(c.CancelToken), snapshots: snapshotCache{trees: trees}, leaks: leakCheck{profile: inspect.Leaks}}
}

// A refusal is an error that is sent to the client as the response.
type refusal struct {
	status int
	reason string
}

func (r *refusal) Error() string { return r.reason }

func refuse(status int, reason string) error { return &refusal{status, reason} }

// ServeHTTP handles a request.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	err := h.answer(w, r)
	if refused, ok := errors.AsType[*refusal](err); ok {
		http.Error(w, refused.reason, refused.status)
	} else if err != nil {
		panic(http.ErrAbortHandler) // in the middle of a response, which must not look complete
	}
}

func (h *handler) answer(w http.ResponseWriter, r *http.Request) error {
	if !h.remote {
		if err := checkLocal(r); err != nil {
			return err
		}
	}
	switch r.Method {
	case http.MethodGet:
		return h.show(w, r)
	case http.MethodPost:
		return h.cancel(w, r)
	}
	w.Header().Set("Allow", "GET, POST")
	return refuse(http.StatusMethodNotAllowed, "the live tree knows GET, to read, and POST, to cancel a task")
}

func (h *handler) show(w http.ResponseWriter, r *http.Request) error {
	q, err := readQuery(r)
	if err != nil {
		return err
	}
	if q.waits {
		return showWaits(w, inspect.Waits(), q)
	}
	if q.leaks {
		return h.leaks.show(w, q)
	}
	full, err := h.snapshots.snapshot(r.Context())
	if err != nil {
		return err
	}
	if q.detail {
		return showTask(w, full, q.task)
	}
	s := *full
	s.CanCancel = h.token.set
	s.Trees = trees.Prune(s.Trees, q.max)
	if q.json {
		w.Header().Set("Content-Type", "application/json")
		return s.writeJSON(w)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	return s.writeText(w)
}

func showTask(w http.ResponseWriter, s *Snapshot, id uint32) error {
	n := trees.Find(s.Trees, func(n *inspect.Node) bool { return n.ID == id })
	if n == nil {
		return refuse(http.StatusNotFound, "no task has the number "+strconv.FormatUint(uint64(id), 10)+": it has ended")
	}
	w.Header().Set("Content-Type", "application/json")
	return newDetail(*n).writeJSON(w)
}
