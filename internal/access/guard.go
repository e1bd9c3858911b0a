package access

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/detach"
	"github.com/meanwhile-go/meanwhile/internal/loopback"
	"github.com/meanwhile-go/meanwhile/internal/problem"
)

// Paths that the guard serves itself.
const (
	SignInPath  = "/sign-in"
	SignOutPath = "/sign-out"
	stylePath   = "/sign-in.css"
)

// secureTime is the time for which a browser that has used TLS must keep using it (HSTS): a year.
const secureTime = "max-age=31536000"

// Wrap returns a handler that passes allowed requests on to next, and answers all others. Over TLS, each answer makes the browser use nothing but TLS
// for a year.
//
// Requests that change something are refused for viewers, and for pages of other origins in a browser, see [http.CrossOriginProtection]. Requests
// with a token need no such protection.
func (g *Guard) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS != nil {
			w.Header().Set("Strict-Transport-Security", secureTime)
		}
		switch {
		case !g.checkLocal(w, r):
		case len(g.config.Users) > 0 && g.serveOwnPath(w, r):
		case g.public[r.URL.Path] && isSafe(r.Method):
			next.ServeHTTP(w, r)
		case !g.Asks():
			g.pass(w, r, Identity{Role: Admin}, next, false)
		default:
			g.ask(w, r, next)
		}
	})
}

// checkLocal refuses requests from addresses that are not allowed, and requests with a Host header that does not name the server.
func (g *Guard) checkLocal(w http.ResponseWriter, r *http.Request) bool {
	if g.config.Local {
		if err := loopback.CheckSender(r); err != nil {
			g.fail(w, r, http.StatusForbidden, "this server has no users and no tokens, so it answers its own machine only, and "+err.Error()+
				": give it users or tokens, and --proxy behind a proxy")
			return false
		}
	}
	if g.checksHost && !g.hosts.Has(r.Host) {
		g.fail(w, r, http.StatusMisdirectedRequest, fmt.Sprintf("this server is not called %.100q: ask for localhost or the address that it listens on, "+
			"or have it answer to that name with --host", r.Host))
		return false
	}
	return true
}

// ask authenticates a request.
func (g *Guard) ask(w http.ResponseWriter, r *http.Request, next http.Handler) {
	text, err := bearer(r)
	if err != nil {
		g.refuse(w, r, err.Error())
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
	defer detach.Defer(r.Context(), leave)
	g.pass(w, r.WithContext(ctx), who, next, false)
}

// byToken accepts a correct token even if many wrong ones came from its address: the comparison costs nothing, and a program with an old token should
// not lock out others at its address.
func (g *Guard) byToken(w http.ResponseWriter, r *http.Request, text string, next http.Handler) {
	if token, ok := g.tokens.find(text); ok {
		g.pass(w, r, Identity{Name: token.Name, Role: token.Role}, next, true)
		return
	}
	client := g.client(r)
	if wait := g.attempts.wrongToken(client, time.Now()); wait > 0 {
		g.config.Failed("limited")
		retryAfter(w, wait)
		g.fail(w, r, http.StatusTooManyRequests, "the token is not one of those that this server takes, and too many such came from this address: wait "+seconds(wait))
		return
	}
	g.config.Failed("token")
	g.config.Logger.Warn("access: a wrong token", "address", client.Addr())
	g.refuse(w, r, "the token is not one of those that this server takes")
}

// pass passes a request on, unless it changes something and its sender may not.
func (g *Guard) pass(w http.ResponseWriter, r *http.Request, who Identity, next http.Handler, byToken bool) {
	if who.Role == Worker && !g.config.ForWorkers(r) {
		g.fail(w, r, http.StatusForbidden, fmt.Sprintf("%s may only enqueue jobs, see one by its ID, and run jobs: the role is %s", who.Name, who.Role))
		return
	}
	if !isSafe(r.Method) {
		if who.Role != Admin && who.Role != Worker && !g.personal[r.URL.Path] {
			g.fail(w, r, http.StatusForbidden, fmt.Sprintf("%s is read-only: the role is %s", who.Name, who.Role))
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
		g.fail(w, r, http.StatusForbidden, "a page of another origin sent this request, and it would change something")
		return false
	}
	return true
}

// askToSignIn redirects a browser to the sign-in page, and answers a program with the credentials that it has to send.
func (g *Guard) askToSignIn(w http.ResponseWriter, r *http.Request) {
	switch {
	case len(g.config.Users) == 0 || !wantsPage(r):
		g.refuse(w, r, "bring a token: Authorization: Bearer TOKEN")
		return
	case !isSafe(r.Method):
		g.refuse(w, r, "you are not signed in, or your session has ended: sign in, and do it again")
		return
	}
	target := SignInPath
	if to := r.URL.RequestURI(); to != "/" && len(to) <= mostTarget {
		target += "?to=" + url.QueryEscape(to)
	}
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, target, http.StatusSeeOther)
}

func (g *Guard) refuse(w http.ResponseWriter, r *http.Request, detail string) {
	w.Header().Set("WWW-Authenticate", `Bearer realm="meanwhile"`)
	g.fail(w, r, http.StatusUnauthorized, detail)
}

// fail answers with an error: with a page for a browser, and with problem details for a program.
func (g *Guard) fail(w http.ResponseWriter, r *http.Request, status int, detail string) {
	if !wantsPage(r) {
		problem.Write(w, status, detail, nil)
		return
	}
	g.page(w, status, "problem.html", struct {
		Title, Status, Detail string
		Styled                bool
	}{g.config.Title, http.StatusText(status), detail, len(g.config.Users) > 0})
}

// wantsPage reports whether the answer is to be shown by a browser.
func wantsPage(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }

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
