package access

import (
	"context"
	"fmt"
	"net/http"
)

// A Role is what a user or a token may do.
type Role string

const (
	Admin  Role = "admin"  // everything
	Viewer Role = "viewer" // read, but change nothing
	Worker Role = "worker" // of a token: only what Config.ForWorkers allows
)

// UnmarshalText reads a role.
func (r *Role) UnmarshalText(text []byte) error {
	switch Role(text) {
	case Admin, Viewer, Worker:
		*r = Role(text)
		return nil
	}
	return fmt.Errorf("%.40q is not a role: give %s or %s, or for a token %s", text, Admin, Viewer, Worker)
}

// An Identity is the user or token that sent a request.
type Identity struct {
	Name string // of the user or the token; "" without authentication
	Role Role
}

type identityKey struct{}

func withIdentity(ctx context.Context, who Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, who)
}

// Who returns who sent a request that came through a [Guard]. It returns false for a request that did not, or that needs no authentication.
func Who(r *http.Request) (Identity, bool) {
	who, ok := r.Context().Value(identityKey{}).(Identity)
	return who, ok
}

// Name returns the name of the user or token that sent a request, or "" without authentication.
func Name(r *http.Request) string {
	who, _ := Who(r)
	return who.Name
}

// ReadOnly reports whether the sender of a request may only read. It is true if there is no guard. A token of the role worker reaches only what
// [Config.ForWorkers] allows, and does not count as read-only.
func ReadOnly(r *http.Request) bool {
	who, _ := Who(r)
	return who.Role != Admin && who.Role != Worker
}
