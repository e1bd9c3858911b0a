package access

import (
	"context"
	"embed"
	"html/template"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"
)

//go:embed signin.html problem.html signin.css
var files embed.FS

var pages = template.Must(template.ParseFS(files, "*.html"))

const (
	mostForm   = 16 << 10 // bytes
	mostTarget = 2048     // bytes of the address to redirect to afterwards
)

// serveOwnPath serves the guard's own paths. It reports whether this was one.
func (g *Guard) serveOwnPath(w http.ResponseWriter, r *http.Request) bool {
	switch r.URL.Path {
	case SignInPath:
		switch r.Method {
		case http.MethodGet, http.MethodHead:
			g.show(w, http.StatusOK, "", r.URL.Query().Get("to"), "")
		case http.MethodPost:
			if g.checkOrigin(w, r) {
				g.signIn(w, r)
			}
		default:
			onlyBy(w, "GET, HEAD, POST")
		}
	case SignOutPath:
		if r.Method != http.MethodPost {
			onlyBy(w, "POST")
		} else if g.checkOrigin(w, r) {
			g.signOut(w, r)
		}
	case stylePath:
		if !isSafe(r.Method) {
			onlyBy(w, "GET, HEAD")
			break
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "max-age=3600")
		http.ServeFileFS(w, r, files, "signin.css")
	default:
		return false
	}
	return true
}

func onlyBy(w http.ResponseWriter, methods string) {
	w.Header().Set("Allow", methods)
	http.Error(w, "use "+methods, http.StatusMethodNotAllowed)
}

// show shows the sign-in page, with the error of the previous attempt.
func (g *Guard) show(w http.ResponseWriter, status int, name, to, trouble string) {
	g.page(w, status, "signin.html", struct{ Title, Name, To, Trouble string }{g.config.Title, name, to, trouble})
}

func (g *Guard) page(w http.ResponseWriter, status int, name string, data any) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin") // with no-referrer the browser would send the form with the origin "null"
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = pages.ExecuteTemplate(w, name, data)
}

func (g *Guard) signIn(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, mostForm)
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if media != "application/x-www-form-urlencoded" || r.ParseForm() != nil {
		g.show(w, http.StatusBadRequest, "", "", "What was sent is not this form.")
		return
	}
	name, to := r.PostForm.Get("name"), r.PostForm.Get("to")
	client := g.client(r)
	if wait := g.attempts.attempt(client, name, time.Now()); wait > 0 {
		g.config.Failed("limited")
		retryAfter(w, wait)
		g.show(w, http.StatusTooManyRequests, name, to, "There were too many attempts for this name, or from this address. Wait "+seconds(wait)+".")
		return
	}
	user, ok, err := g.compare(r.Context(), name, r.PostForm.Get("password"))
	if err != nil {
		g.attempts.giveBack(client, name, time.Now())
		g.show(w, http.StatusServiceUnavailable, name, to, "The request ended before its turn. Try again.")
		return
	}
	if !ok {
		g.config.Failed("password")
		g.config.Logger.Warn("access: a wrong name or password", "address", client.Addr()) // without the name, which may be a password
		g.show(w, http.StatusUnauthorized, name, to, "The name or the password is wrong.")
		return
	}
	now := time.Now()
	g.attempts.giveBack(client, name, now)
	g.config.Logger.Info("access: signed in", "user", user.Name, "address", client.Addr())
	secure := g.secure(r)
	g.sessions.quit(cookie(r, secure))
	setCookie(w, secure, g.sessions.create(Identity{Name: user.Name, Role: user.Role}, now))
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, target(to), http.StatusSeeOther)
}

// compare checks a password, after waiting for its turn. It returns an error if ctx ends before that.
func (g *Guard) compare(ctx context.Context, name, password string) (user User, ok bool, err error) {
	select {
	case g.users.busy <- struct{}{}:
		defer func() { <-g.users.busy }()
		user, ok = g.users.check(name, password)
		return user, ok, nil
	case <-ctx.Done():
		return User{}, false, context.Cause(ctx)
	}
}

func (g *Guard) signOut(w http.ResponseWriter, r *http.Request) {
	secure := g.secure(r)
	g.sessions.quit(cookie(r, secure))
	setCookie(w, secure, "")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Clear-Site-Data", `"cache"`)
	http.Redirect(w, r, SignInPath, http.StatusSeeOther)
}

// target returns where to redirect after the sign-in: a path of this server, or "/".
func target(to string) string {
	u, err := url.Parse(to)
	if err != nil || len(to) > mostTarget || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" ||
		!strings.HasPrefix(to, "/") || strings.HasPrefix(u.Path, "//") || strings.ContainsAny(to, "\\\t\r\n") ||
		strings.HasPrefix(path.Clean(u.Path), "/sign-") {
		return "/"
	}
	return u.RequestURI()
}
