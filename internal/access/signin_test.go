package access

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"
)

func TestSignInPage(t *testing.T) {
	_, h, _ := newGuard(t, func(c *Config) { c.Title = "<b>Jobs</b>" })
	w := ask(h, "GET", `/sign-in?to="><script>x</script>`)
	body := w.Body.String()
	for _, want := range []string{"&lt;b&gt;Jobs", `type="password"`, `autocomplete="current-password"`, "&#34;&gt;&lt;script"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %s:\n%s", want, body)
		}
	}
	if csp := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'; style-src 'self'") || strings.Contains(csp, "unsafe") {
		t.Errorf("Content-Security-Policy: %s", csp)
	}
	for _, inline := range []string{"<script", "style=", "<style"} {
		if strings.Contains(body, inline) {
			t.Errorf("the page has %s, which its policy forbids", inline)
		}
	}
	if w := ask(h, "GET", "/sign-in.css"); w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/css") {
		t.Errorf("style: %d %v", w.Code, w.Header())
	}
	for path, allow := range map[string]string{"/sign-in": "GET, HEAD, POST", "/sign-out": "POST", "/sign-in.css": "GET, HEAD"} {
		if w := ask(h, "DELETE", path); w.Code != 405 || w.Header().Get("Allow") != allow {
			t.Errorf("DELETE %s: %d, Allow %s", path, w.Code, w.Header().Get("Allow"))
		}
	}
}

func TestSignIn(t *testing.T) {
	g, h, log := newGuard(t, nil)
	g.users.compare = bcrypt.CompareHashAndPassword
	const typo = "pass-typed-as-name"
	for _, test := range []struct {
		name, password string
		status         int
	}{
		{"ada", password, 303},
		{"ada", password + "x", 401},
		{"ada", "", 401},
		{"ada", password + strings.Repeat("\x00", 80), 401},
		{typo, password, 401},
		{"", "", 401},
	} {
		w := signIn(h, test.name, test.password, "/jobs?x=1")
		if w.Code != test.status {
			t.Errorf("%q: got %d, want %d", test.name, w.Code, test.status)
		}
		if test.status == 401 && (!strings.Contains(w.Body.String(), "The name or the password is wrong.") || w.Header().Get("Set-Cookie") != "") {
			t.Errorf("%q: %v\n%s", test.name, w.Header(), w.Body)
		}
		if test.status == 303 && w.Header().Get("Location") != "/jobs?x=1" {
			t.Errorf("%q: redirects to %s", test.name, w.Header().Get("Location"))
		}
	}
	if w := signIn(h, "ada", password, "", with("Sec-Fetch-Site", "cross-site")); w.Code != 403 {
		t.Errorf("a form of another origin: %d", w.Code)
	}
	if w := signIn(h, "ada", password, "", func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }); w.Code != 400 {
		t.Errorf("no form: %d", w.Code)
	}
	if w := signIn(h, "ada", strings.Repeat("x", 1<<20), ""); w.Code != 400 {
		t.Errorf("a form that is too long: %d", w.Code)
	}
	if said := log.String(); !strings.Contains(said, "user=ada") || strings.Contains(said, typo) || strings.Contains(said, password) {
		t.Errorf("the log is\n%s", said)
	}
}

func TestCookie(t *testing.T) {
	_, h, _ := newGuard(t, func(c *Config) { c.Proxy = true })
	overTLS := func(r *http.Request) { r.TLS = &tls.ConnectionState{} }
	for _, test := range []struct {
		what string
		edit func(*http.Request)
		want []string
	}{
		{"plain", from("192.0.2.1:1"), []string{"meanwhile=", "HttpOnly", "SameSite=Lax", "Path=/"}},
		{"TLS", overTLS, []string{"__Host-meanwhile=", "HttpOnly", "SameSite=Lax", "Secure", "Path=/"}},
		{"TLS of a proxy", with("X-Forwarded-Proto", "https"), []string{"__Host-meanwhile=", "Secure"}},
	} {
		w := signIn(h, "ada", password, "", test.edit)
		set := w.Header().Get("Set-Cookie")
		for _, want := range test.want {
			if !strings.Contains(set, want) {
				t.Errorf("%s: %s lacks %s", test.what, set, want)
			}
		}
		if test.what == "plain" && strings.Contains(set, "Secure") {
			t.Errorf("%s: %s would never be sent", test.what, set)
		}
		if got := ask(h, "GET", "/", cookieOf(t, w), test.edit); got.Code != 200 {
			t.Errorf("%s: the session is unknown: %d", test.what, got.Code)
		}
	}
	plain := cookieOf(t, signIn(h, "ada", password, ""))
	if w := ask(h, "GET", "/", plain, overTLS); w.Code != 401 {
		t.Errorf("a cookie that was set without TLS: got %d, want 401", w.Code)
	}
	again := signIn(h, "ada", password, "", plain)
	if w := ask(h, "GET", "/", plain); w.Code != 401 || ask(h, "GET", "/", cookieOf(t, again)).Code != 200 {
		t.Errorf("signing in again did not end the previous session: %d", w.Code)
	}
}

func FuzzTarget(f *testing.F) {
	for _, seed := range []string{"/", "/jobs?a=b", "//evil.example", `/\evil.example`, "https://evil.example", "/sign-out", "/./sign-in", "/\t/evil.example", "javascript:x", "/%2f/x", "/%2f ", "/%2Fevil.example ", "/.//evil.example"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, to string) {
		got := target(to)
		w := httptest.NewRecorder()
		http.Redirect(w, httptest.NewRequest("POST", SignInPath, nil), got, http.StatusSeeOther)
		leads := w.Header().Get("Location")
		if !strings.HasPrefix(leads, "/") || strings.HasPrefix(leads, "//") || strings.HasPrefix(leads, `/\`) {
			t.Errorf("%q redirects to %q", to, leads)
		}
	})
}

// TestSignInPageReadsNoBody: reading a form with files writes them to the server's disk, so the page must not read a form.
func TestSignInPageReadsNoBody(t *testing.T) {
	_, h, _ := newGuard(t, nil)
	body := strings.NewReader("--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f\"\r\n\r\n" + strings.Repeat("x", 1<<16) + "\r\n--b--\r\n")
	r := httptest.NewRequest("GET", "/sign-in?to=/jobs", body)
	r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
	before := body.Len()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if read := before - body.Len(); w.Code != 200 || !strings.Contains(w.Body.String(), `value="/jobs"`) || read > 0 {
		t.Errorf("status %d, and %d bytes of the body were read:\n%s", w.Code, read, w.Body)
	}
}

// TestSignInIsCanceled: a request that ends before its password was compared is no failure: it is neither logged nor counted, and uses no attempt.
func TestSignInIsCanceled(t *testing.T) {
	failed := 0
	g, h, log := newGuard(t, func(c *Config) { c.Failed = func(string) { failed++ } })
	for range mostCompared {
		g.users.busy <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 2 * int(ofName.burst) {
		w := signIn(h, "ada", password, "", func(r *http.Request) { *r = *r.WithContext(ctx) })
		if w.Code != http.StatusServiceUnavailable {
			t.Fatalf("got %d, want 503", w.Code)
		}
	}
	for range mostCompared {
		<-g.users.busy
	}
	if failed > 0 || log.Len() > 0 {
		t.Errorf("%d failures are counted, and the log is\n%s", failed, log)
	}
	if w := signIn(h, "ada", password, ""); w.Code != http.StatusSeeOther {
		t.Errorf("afterwards, the right password gets %d", w.Code)
	}
}
