package access

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/loopback"
	"github.com/meanwhile-go/meanwhile/internal/problem"
)

// Paths of the guard's own.
const (
	SignInPath  = "/sign-in"
	SignOutPath = "/sign-out"
	stylePath   = "/sign-in.css"
)

// Wrap returns a handler that lets those in to next who may come in, and answers everybody else.
//
// What changes something is refused to viewers, and to pages of other origins that a browser shows, see
// [http.CrossOriginProtection]; a token is proof enough against these.
func (g *Guard) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case g.config.Local && !g.checkLocal(w, r):
		case len(g.config.Users) > 0 && g.own(w, r):
		case g.public[r.URL.Path] && isSafe(r.Method):
			next.ServeHTTP(w, r)
		case !g.Asks():
			g.pass(w, r, Identity{Role: Admin}, next, false)
		default:
			g.ask(w, r, next)
		}
	})
}

func (g *Guard) checkLocal(w http.ResponseWriter, r *http.Request) bool {
	err := loopback.Check(r)
	if err == nil {
		return true
	}
	remedy := "give it users or tokens, and --proxy behind a proxy"
	if errors.Is(err, loopback.ErrHost) {
		remedy = "ask for localhost, or give it users or tokens"
	}
	problem.Write(w, http.StatusForbidden, "this server has no users and no tokens, so it answers its own machine only, and "+err.Error()+": "+remedy, nil)
	return false
}

// ask finds out who sent a request.
func (g *Guard) ask(w http.ResponseWriter, r *http.Request, next http.Handler) {
	text, err := bearer(r)
	if err != nil {
		g.refuse(w, err.Error())
		return
	}
	if text != "" {
		g.byToken(w, r, text, next)
		return
	}
	who, ctx, leave, ok := g.sessions.enter(r.Context(), cookie(r, g.secure(r)), time.Now())
	if !ok {
		g.askToSignIn(w, r)
		return
	}
	defer leave()
	g.pass(w, r.WithContext(ctx), who, next, false)
}

func (g *Guard) byToken(w http.ResponseWriter, r *http.Request, text string, next http.Handler) {
	now, client := time.Now(), g.client(r)
	if wait := g.attempts.blocked(client, now); wait > 0 {
		retryAfter(w, wait)
		problem.Write(w, http.StatusTooManyRequests, "too many wrong tokens and passwords came from this address: wait "+seconds(wait), nil)
		return
	}
	token, ok := g.tokens.find(text)
	if !ok {
		g.attempts.charge(client, now)
		g.config.Logger.Warn("access: a wrong token", "address", client.Addr())
		g.refuse(w, "the token is not one of those that this server takes")
		return
	}
	g.pass(w, r, Identity{Name: token.Name, Role: token.Role}, next, true)
}

// pass hands a request on, unless it changes something and must not.
func (g *Guard) pass(w http.ResponseWriter, r *http.Request, who Identity, next http.Handler, byToken bool) {
	if !isSafe(r.Method) {
		if who.Role != Admin {
			problem.Write(w, http.StatusForbidden, fmt.Sprintf("%s may look only: the role is %s", who.Name, who.Role), nil)
			return
		}
		if !byToken && !g.checkOrigin(w, r) {
			return
		}
	}
	next.ServeHTTP(w, r.WithContext(withIdentity(r.Context(), who)))
}

func (g *Guard) checkOrigin(w http.ResponseWriter, r *http.Request) bool {
	if err := g.cross.Check(r); err != nil {
		problem.Write(w, http.StatusForbidden, "a page of another origin sent this request, and it would change something", nil)
		return false
	}
	return true
}

// askToSignIn leads a browser to the page, and tells a program what to bring.
func (g *Guard) askToSignIn(w http.ResponseWriter, r *http.Request) {
	if len(g.config.Users) == 0 || !isSafe(r.Method) || !strings.Contains(r.Header.Get("Accept"), "text/html") {
		g.refuse(w, "bring a token: Authorization: Bearer TOKEN")
		return
	}
	target := SignInPath
	if to := r.URL.RequestURI(); to != "/" && len(to) <= mostTarget {
		target += "?to=" + url.QueryEscape(to)
	}
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, target, http.StatusSeeOther)
}

func (g *Guard) refuse(w http.ResponseWriter, detail string) {
	w.Header().Set("WWW-Authenticate", `Bearer realm="meanwhile"`)
	problem.Write(w, http.StatusUnauthorized, detail, nil)
}

func isSafe(method string) bool { return method == http.MethodGet || method == http.MethodHead }

func retryAfter(w http.ResponseWriter, wait time.Duration) {
	w.Header().Set("Retry-After", strconv.Itoa(wholeSeconds(wait)))
}

func seconds(wait time.Duration) string {
	if n := wholeSeconds(wait); n != 1 {
		return strconv.Itoa(n) + " seconds"
	}
	return "a second"
}

func wholeSeconds(wait time.Duration) int { return int((wait + time.Second - 1) / time.Second) }
