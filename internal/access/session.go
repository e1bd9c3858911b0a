package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"sync"
	"time"
)

const (
	idleTime     = 12 * time.Hour     // a session that is unused for this long ends
	longestTime  = 7 * 24 * time.Hour // any session ends after this time
	mostSessions = 1000               // beyond that, the session that was unused for the longest time ends
	cookieName   = "meanwhile"
	secureName   = "__Host-meanwhile" // browsers accept it from this host only, and only over TLS
	cookieSize   = 43                 // 256 bits in base64
)

// sessions are the sessions of all users. Their key is the hash of the cookie's value, so that the time of a lookup reveals nothing.
type sessions struct {
	mu  sync.Mutex
	all map[[sha256.Size]byte]*session
}

// A session is a user who has signed in, in one browser.
type session struct {
	who     Identity
	begun   time.Time
	used    time.Time
	running map[*request]struct{}
}

// A request is a request that is being answered.
type request struct{ cancel context.CancelFunc }

// over reports whether a session has expired. A session with a request that is being answered, such as an event stream, is in use.
func (s *session) over(now time.Time) bool {
	return now.Sub(s.begun) >= longestTime || len(s.running) == 0 && now.Sub(s.used) >= idleTime
}

// unusedBefore reports whether a session has been out of use for longer than another.
func (s *session) unusedBefore(other *session) bool {
	if inUse, otherInUse := len(s.running) > 0, len(other.running) > 0; inUse != otherInUse {
		return otherInUse
	}
	return s.used.Before(other.used)
}

// create starts a session and returns the value of its cookie.
func (s *sessions) create(who Identity, now time.Time) string {
	var bits [32]byte
	_, _ = rand.Read(bits[:]) // never fails
	value := base64.RawURLEncoding.EncodeToString(bits[:])
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[[sha256.Size]byte]*session{}
	}
	if len(s.all) >= mostSessions {
		s.makeRoom(now)
	}
	s.all[sha256.Sum256([]byte(value))] = &session{who: who, begun: now, used: now, running: map[*request]struct{}{}}
	return value
}

// makeRoom ends the sessions that have expired, or else the one that was unused for the longest time. If all are in use, it ends the one whose last
// request is the oldest.
func (s *sessions) makeRoom(now time.Time) {
	var oldest [sha256.Size]byte
	var first *session
	for key, one := range s.all {
		if one.over(now) {
			s.end(key)
		} else if first == nil || one.unusedBefore(first) {
			oldest, first = key, one
		}
	}
	if len(s.all) >= mostSessions {
		s.end(oldest)
	}
}

// enter returns the user of a cookie's session, and a ctx that is canceled when the session ends. The caller calls leave after the request.
func (s *sessions) enter(ctx context.Context, value string, now time.Time) (who Identity, inner context.Context, leave func(), ok bool) {
	key := sha256.Sum256([]byte(value))
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.all[key]
	if one == nil {
		return Identity{}, nil, nil, false
	}
	if one.over(now) {
		s.end(key)
		return Identity{}, nil, nil, false
	}
	one.used = now
	inner, cancel := context.WithDeadline(ctx, one.begun.Add(longestTime))
	r := &request{cancel}
	one.running[r] = struct{}{}
	return one.who, inner, func() {
		cancel()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(one.running, r)
		one.used = time.Now()
	}, true
}

// quit ends the session of a cookie.
func (s *sessions) quit(value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(sha256.Sum256([]byte(value)))
}

// end ends a session, and cancels its requests.
func (s *sessions) end(key [sha256.Size]byte) {
	one := s.all[key]
	if one == nil {
		return
	}
	delete(s.all, key)
	for r := range one.running {
		r.cancel()
	}
}

// cookie returns the value of a request's cookie, or "". Over TLS only the one that was set over TLS counts: a page without TLS cannot set it.
func cookie(r *http.Request, secure bool) string {
	found := r.CookiesNamed(nameOf(secure))
	if len(found) != 1 || len(found[0].Value) != cookieSize {
		return ""
	}
	return found[0].Value
}

// setCookie sets the cookie; an empty value removes it. Browsers send it when a link from another site is followed, and with no other request from there:
// a GET changes nothing, and [http.CrossOriginProtection] checks the rest.
func setCookie(w http.ResponseWriter, secure bool, value string) {
	c := &http.Cookie{
		Name: nameOf(secure), Value: value, Path: "/", MaxAge: int(longestTime / time.Second),
		Secure: secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
	if value == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}

func nameOf(secure bool) string {
	if secure {
		return secureName
	}
	return cookieName
}
