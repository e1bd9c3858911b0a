package live

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/internal/loopback"
	"github.com/meanwhile-go/meanwhile/internal/trees"
)

// mostBody is the maximum size in bytes of a request to cancel: a path of some thousand levels fits into it.
const mostBody = 64 << 10

// A token is a secret that a request must contain. Only its digest is kept: all digests have the same length, so that a
// comparison takes the same time for each wrong guess.
type token struct {
	set    bool
	digest [sha256.Size]byte
}

func newToken(secret string) token {
	secret = strings.TrimSpace(secret)
	return token{set: secret != "", digest: sha256.Sum256([]byte(secret))}
}

// in reports whether the request contains the token.
func (t token) in(r *http.Request) bool {
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	digest := sha256.Sum256([]byte(strings.TrimSpace(secret)))
	return t.set && strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(digest[:], t.digest[:]) == 1
}

func (h *handler) cancel(w http.ResponseWriter, r *http.Request) error {
	if !h.token.set {
		return refuse(http.StatusForbidden, "this program lets nobody cancel its tasks: "+
			"set CancelToken in live.Config to allow it to those who know the token")
	}
	if h.origin.Check(r) != nil {
		return refuse(http.StatusForbidden, "a page of another origin may not cancel tasks, and no setting allows it: "+
			"send the request from a page of this server, or without a browser")
	}
	if !h.token.in(r) {
		w.Header().Set("WWW-Authenticate", "Bearer")
		return refuse(http.StatusUnauthorized, "to cancel a task takes the program's token: send the header Authorization: Bearer TOKEN")
	}
	id, path, err := readCancel(w, r)
	if err != nil {
		return err
	}
	s, err := h.snapshots.snapshot(r.Context())
	if err != nil {
		return err
	}
	// Numbers are reused, but hardly ever with the same path.
	n := trees.Find(s.Trees, func(n *inspect.Node) bool { return n.ID == id && n.Path == path })
	if n == nil {
		return refuse(http.StatusNotFound, fmt.Sprintf("no task has the number %d and that path: it has ended", id))
	}
	if !n.Cancel(fmt.Errorf("canceled by a request over HTTP from %s", sender(r))) {
		return refuse(http.StatusNotFound, fmt.Sprintf("task %d cannot be canceled: it has ended, or it is a call of Blocking", id))
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// readCancel reads the form of a request to cancel.
func readCancel(w http.ResponseWriter, r *http.Request) (id uint32, path string, err error) {
	r.Body = http.MaxBytesReader(w, r.Body, mostBody)
	if err := r.ParseForm(); err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return 0, "", refuse(http.StatusRequestEntityTooLarge, fmt.Sprintf("the form is longer than %d bytes", mostBody))
		}
		return 0, "", refuse(http.StatusBadRequest, "the form cannot be read: write name=value, joined by & and escaped by %")
	}
	if !r.PostForm.Has("cancel") || !r.PostForm.Has("path") {
		return 0, "", refuse(http.StatusBadRequest, "send cancel and path in the body, as application/x-www-form-urlencoded")
	}
	id, err = readID("cancel", r.PostForm.Get("cancel"))
	return id, r.PostForm.Get("path"), err
}

// sender returns a description of the sender of a request.
func sender(r *http.Request) string {
	if loopback.IsUnixSocket(r.RemoteAddr) {
		return "a Unix socket"
	}
	return r.RemoteAddr
}
