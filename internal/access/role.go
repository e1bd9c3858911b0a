package access

import (
	"context"
	"fmt"
	"net/http"
)

// A Role says what somebody may do.
type Role string

const (
	Admin  Role = "admin"  // everything
	Viewer Role = "viewer" // look, and change nothing
	Worker Role = "worker" // of a token: only what Config.ForWorkers allows
)

// UnmarshalText reads a role.
func (r *Role) UnmarshalText(text []byte) error {
	switch Role(text) {
	case Admin, Viewer, Worker:
		*r = Role(text)
		return nil
	}
	return fmt.Errorf("%.40q is no role: give %s or %s, or for a token %s", text, Admin, Viewer, Worker)
}

// An Identity is who sent a request.
type Identity struct {
	Name string // of the user or the token; "" where nobody was asked
	Role Role
}

type identityKey struct{}

func withIdentity(ctx context.Context, who Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, who)
}

// Who returns who sent a request that came through a [Guard]; false for one that did not, or that everybody may send.
func Who(r *http.Request) (Identity, bool) {
	who, ok := r.Context().Value(identityKey{}).(Identity)
	return who, ok
}

// Name returns the name of who sent a request, or "" where nobody was asked.
func Name(r *http.Request) string {
	who, _ := Who(r)
	return who.Name
}

// ReadOnly reports whether whoever sent a request may look only. Without a guard before it, it is so. A worker gets no further than to
// what it may do.
func ReadOnly(r *http.Request) bool {
	who, _ := Who(r)
	return who.Role != Admin && who.Role != Worker
}
