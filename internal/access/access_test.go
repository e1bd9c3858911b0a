package access

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/bcrypt"
)

const (
	password = "correct horse"
	token    = "mw_a-token-of-the-tests"
)

var hash = sync.OnceValue(func() string {
	text, err := bcrypt.GenerateFromPassword([]byte(password), leastCost)
	if err != nil {
		panic(err)
	}
	return string(text)
})

// inside is the guarded handler: it answers with the identity of the sender.
var inside = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	who, ok := Who(r)
	if !ok {
		who.Name = "nobody"
	}
	_, _ = w.Write([]byte(who.Name + map[bool]string{true: " looks", false: " acts"}[ReadOnly(r)]))
})

// newGuard returns a guard with the users ada, who may do everything, and vi, who may only read, and tokens of the same roles.
func newGuard(t testing.TB, change func(*Config)) (*Guard, http.Handler, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	c := Config{
		Users:  []User{{"ada", Admin, hash()}, {"vi", Viewer, hash()}},
		Tokens: []Token{{"shop", Admin, sha256.Sum256([]byte(token))}, {"metrics", Viewer, sha256.Sum256([]byte(token + "2"))}},
		Public: []string{"/healthz"},
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	}
	if change != nil {
		change(&c)
	}
	g, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	g.users.compare = func(_, given []byte) error { // takes no time; TestSignIn uses the real comparison
		if string(given) != password {
			return bcrypt.ErrMismatchedHashAndPassword
		}
		return nil
	}
	return g, g.Wrap(inside), &log
}

func ask(h http.Handler, method, path string, edits ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://jobs.example"+path, nil)
	for _, edit := range edits {
		edit(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func with(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Add(name, value) }
}

func from(address string) func(*http.Request) {
	return func(r *http.Request) { r.RemoteAddr = address }
}

// signIn submits the sign-in form.
func signIn(h http.Handler, name, secret, to string, edits ...func(*http.Request)) *httptest.ResponseRecorder {
	form := url.Values{"name": {name}, "password": {secret}, "to": {to}}.Encode()
	r := httptest.NewRequest("POST", "http://jobs.example/sign-in", strings.NewReader(form))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for _, edit := range edits {
		edit(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// cookieOf returns an edit that adds the cookie that a response has set.
func cookieOf(t *testing.T, w *httptest.ResponseRecorder) func(*http.Request) {
	t.Helper()
	cookies := w.Result().Cookies()
	if len(cookies) != 1 || w.Code != http.StatusSeeOther {
		t.Fatalf("sign in: status %d, cookies %v: %s", w.Code, cookies, w.Body)
	}
	return with("Cookie", cookies[0].Name+"="+cookies[0].Value)
}

// TestWorker: a token of the role worker is accepted for the requests of workers, and for nothing else, pages included.
func TestWorker(t *testing.T) {
	change := func(c *Config) {
		c.Tokens = append(c.Tokens, Token{"farm", Worker, sha256.Sum256([]byte(token + "3"))})
		c.Personal = []string{"/theme"}
	}
	bearer := with("Authorization", "Bearer "+token+"3")
	_, h, _ := newGuard(t, func(c *Config) {
		change(c)
		c.ForWorkers = func(r *http.Request) bool { return r.URL.Path == "/work" }
	})
	for _, method := range []string{"GET", "POST"} {
		if w := ask(h, method, "/work", bearer); w.Code != 200 || w.Body.String() != "farm acts" {
			t.Errorf("%s /work: got %d %s", method, w.Code, w.Body)
		}
		for _, path := range []string{"/", "/metrics", "/work/", "/theme"} {
			w := ask(h, method, path, bearer)
			if w.Code != 403 || !strings.Contains(w.Body.String(), "farm may only enqueue jobs, see one by its ID, and run jobs: the role is worker") {
				t.Errorf("%s %s: got %d %s", method, path, w.Code, w.Body)
			}
		}
	}
	if w := ask(h, "POST", "/work", with("Authorization", "Bearer "+token+"2")); w.Code != 403 {
		t.Errorf("a viewer got %d %s", w.Code, w.Body)
	}
	_, h, _ = newGuard(t, change)
	if w := ask(h, "GET", "/work", bearer); w.Code != 403 {
		t.Errorf("without ForWorkers: got %d %s", w.Code, w.Body)
	}
	var u User
	if err := u.UnmarshalText([]byte("ada:worker:" + hash())); err == nil || !strings.Contains(err.Error(), "is for tokens of programs") {
		t.Errorf("a user with the role: %v", err)
	}
}

func TestWhoComesIn(t *testing.T) {
	_, h, _ := newGuard(t, nil)
	ada, vi := cookieOf(t, signIn(h, "ada", password, "")), cookieOf(t, signIn(h, "vi", password, ""))
	shop, metrics := with("Authorization", "Bearer "+token), with("authorization", "bearer "+token+"2")
	html, evil := with("Accept", "text/html,*/*"), with("Sec-Fetch-Site", "cross-site")
	for _, test := range []struct {
		what, method, path string
		edits              []func(*http.Request)
		status             int
		want               string // of the response, or its redirect target
	}{
		{"nobody", "GET", "/jobs", nil, 401, "bring a token"},
		{"nobody, in a browser", "GET", "/jobs?a=b", []func(*http.Request){html}, 303, "/sign-in?to=%2Fjobs%3Fa%3Db"},
		{"nobody, in a browser, at the root", "GET", "/", []func(*http.Request){html}, 303, "/sign-in"},
		{"nobody, who posts", "POST", "/jobs", []func(*http.Request){html}, 401, "sign in, and do it again"},
		{"nobody, health", "GET", "/healthz", nil, 200, "nobody looks"},
		{"nobody, below health", "GET", "/healthz/x", nil, 401, ""},
		{"nobody, who posts to health", "POST", "/healthz", nil, 401, ""},
		{"admin", "GET", "/", []func(*http.Request){ada}, 200, "ada acts"},
		{"admin posts", "POST", "/", []func(*http.Request){ada, with("Sec-Fetch-Site", "same-origin")}, 200, "ada acts"},
		{"another origin posts for the admin", "POST", "/", []func(*http.Request){ada, evil}, 403, "another origin"},
		{"an old browser posts for the admin", "POST", "/", []func(*http.Request){ada, with("Origin", "http://evil.example")}, 403, "another origin"},
		{"viewer", "GET", "/", []func(*http.Request){vi}, 200, "vi looks"},
		{"viewer posts", "POST", "/", []func(*http.Request){vi}, 403, "vi is read-only: the role is viewer"},
		{"viewer deletes", "DELETE", "/", []func(*http.Request){vi}, 403, "vi is read-only"},
		{"token", "GET", "/", []func(*http.Request){shop}, 200, "shop acts"},
		{"token posts from anywhere", "POST", "/", []func(*http.Request){shop, evil}, 200, "shop acts"},
		{"token of a viewer", "GET", "/", []func(*http.Request){metrics}, 200, "metrics looks"},
		{"token of a viewer posts", "PUT", "/", []func(*http.Request){metrics}, 403, "metrics is read-only"},
		{"a wrong token does not fall back to the cookie", "GET", "/", []func(*http.Request){ada, with("Authorization", "Bearer x")}, 401, "not one of those"},
		{"another scheme", "GET", "/", []func(*http.Request){with("Authorization", "Basic YTpi")}, 401, "not of the form"},
		{"two tokens", "GET", "/", []func(*http.Request){shop, shop}, 401, "not of the form"},
		{"a cookie of nobody", "GET", "/", []func(*http.Request){with("Cookie", "meanwhile="+strings.Repeat("A", 43))}, 401, ""},
		{"two cookies", "GET", "/", []func(*http.Request){ada, vi}, 401, ""},
	} {
		w := ask(h, test.method, test.path, test.edits...)
		got := w.Body.String()
		if w.Code == http.StatusSeeOther {
			if got = w.Header().Get("Location"); got != test.want {
				t.Errorf("%s: leads to %s, want %s", test.what, got, test.want)
			}
		}
		if w.Code != test.status || !strings.Contains(got, test.want) {
			t.Errorf("%s: got %d %s, want %d %s", test.what, w.Code, got, test.status, test.want)
		}
		if w.Code == 401 && !strings.HasPrefix(w.Header().Get("WWW-Authenticate"), "Bearer ") {
			t.Errorf("%s: no WWW-Authenticate header", test.what)
		}
	}
}

func TestNobodyIsAsked(t *testing.T) {
	for _, local := range []bool{false, true} {
		_, h, _ := newGuard(t, func(c *Config) {
			c.Users, c.Tokens, c.Local, c.Hosts = nil, nil, local, []string{"Jobs.example", "192.0.2.1", "[2001:db8::1]"}
		})
		here := func(r *http.Request) { r.RemoteAddr, r.Host = "127.0.0.1:4000", "localhost:7" }
		host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
		for _, test := range []struct {
			what   string
			edits  []func(*http.Request)
			status int // with Local
			want   string
			open   bool // without Local
		}{
			{"this machine", []func(*http.Request){here}, 200, "acts", true},
			{"another machine", []func(*http.Request){here, from("192.0.2.7:4000")}, 403, "comes from another machine", true},
			{"a proxy", []func(*http.Request){here, with("X-Forwarded-For", "127.0.0.1")}, 403, "header X-Forwarded-For", true},
			{"a name that leads here", []func(*http.Request){here, host("evil.example")}, 421, `not called \"evil.example\": ask for localhost`, false},
			{"another address", []func(*http.Request){here, host("192.0.2.2:7070")}, 421, "with --host", false},
			{"no name", []func(*http.Request){here, host("")}, 421, "with --host", false},
			{"a name that begins well", []func(*http.Request){here, host("jobs.example.evil.example")}, 421, "with --host", false},
			{"a name that it was given", []func(*http.Request){here, host("jobs.EXAMPLE.:7070")}, 200, "acts", true},
			{"an address that it was given", []func(*http.Request){here, host("192.0.2.1:7070")}, 200, "acts", true},
			{"an IPv6 address that it was given", []func(*http.Request){here, host("[2001:db8:0::1]:7070")}, 200, "acts", true},
		} {
			for _, method := range []string{"GET", "POST"} {
				w := ask(h, method, "/", test.edits...)
				status, want := test.status, test.want
				if !local && test.open {
					status, want = 200, "acts"
				}
				if w.Code != status || !strings.Contains(w.Body.String(), want) {
					t.Errorf("local %t, %s, %s: got %d %s, want %d %s", local, test.what, method, w.Code, w.Body, status, want)
				}
			}
		}
		for _, edit := range []func(*http.Request){with("Sec-Fetch-Site", "cross-site"), with("Origin", "http://evil.example")} {
			if w := ask(h, "POST", "/", here, edit); w.Code != 403 {
				t.Errorf("local %t: a page of another origin: got %d, want 403", local, w.Code)
			}
		}
		if w := ask(h, "GET", "/sign-in", here); w.Body.String() != " acts" {
			t.Errorf("local %t: there is a sign-in page: %s", local, w.Body)
		}
	}
}

func TestHosts(t *testing.T) {
	for _, test := range []struct {
		what  string
		asks  bool
		hosts []string
		host  string
		want  int
	}{
		{"by default no other name", false, nil, "jobs.example", 421},
		{"by default no address", false, nil, "192.0.2.1", 421},
		{"all addresses", false, []string{"0.0.0.0"}, "192.0.2.1", 200},
		{"all addresses, IPv6", false, []string{"::"}, "[2001:db8::1]:7", 200},
		{"all addresses, and no name", false, []string{"0.0.0.0"}, "jobs.example", 421},
		{"with users any name", true, nil, "jobs.example", 401},
		{"with users and hosts no other name", true, []string{"shop.example"}, "jobs.example", 421},
		{"with users and hosts the name", true, []string{"shop.example"}, "shop.example", 401},
	} {
		_, h, _ := newGuard(t, func(c *Config) {
			c.Hosts = test.hosts
			if !test.asks {
				c.Users, c.Tokens = nil, nil
			}
		})
		if w := ask(h, "GET", "/", func(r *http.Request) { r.Host = test.host }); w.Code != test.want {
			t.Errorf("%s: got %d, want %d", test.what, w.Code, test.want)
		}
	}
}

// TestPages: a refused request is answered with a page for a browser, and with problem details for a program.
func TestPages(t *testing.T) {
	_, h, _ := newGuard(t, func(c *Config) {
		c.Title, c.Personal, c.Hosts = "<b>Jobs</b>", []string{"/theme"}, []string{"jobs.example"}
	})
	vi := cookieOf(t, signIn(h, "vi", password, ""))
	wrong, elsewhere := with("Authorization", "Bearer x"), func(r *http.Request) { r.Host = "<i>.example" }
	if w := ask(h, "POST", "/theme", vi); w.Code != 200 || w.Body.String() != "vi looks" {
		t.Errorf("a viewer changes what is theirs: got %d %s", w.Code, w.Body)
	}
	if w := ask(h, "POST", "/theme", vi, with("Sec-Fetch-Site", "cross-site")); w.Code != 403 {
		t.Errorf("another site changes it: got %d, want 403", w.Code)
	}
	if w := ask(h, "POST", "/theme"); w.Code != 401 {
		t.Errorf("nobody changes it: got %d, want 401", w.Code)
	}
	for _, test := range []struct {
		edits  []func(*http.Request)
		status int
		want   string
	}{
		{[]func(*http.Request){vi}, 403, "vi is read-only"},
		{[]func(*http.Request){vi, with("Sec-Fetch-Site", "cross-site")}, 403, "vi is read-only"},
		{[]func(*http.Request){wrong}, 401, "not one of those"},
		{[]func(*http.Request){with("Authorization", "Basic YTpi")}, 401, "not of the form"},
		{[]func(*http.Request){elsewhere}, 421, "not called"},
	} {
		page := ask(h, "POST", "/jobs/action", append(test.edits, with("Accept", "text/html,application/xhtml+xml"))...)
		body := page.Body.String()
		if page.Code != test.status || !strings.HasPrefix(page.Header().Get("Content-Type"), "text/html") || !strings.Contains(body, test.want) || !strings.Contains(body, "<h1>") ||
			!strings.HasPrefix(page.Header().Get("Content-Security-Policy"), "default-src 'none'") || strings.Contains(body, "<b>") || strings.Contains(body, "<i>") {
			t.Errorf("%s: a browser gets %d %v\n%s", test.want, page.Code, page.Header(), body)
		}
		program := ask(h, "POST", "/jobs/action", append(test.edits, with("Accept", "*/*"))...)
		if program.Code != test.status || program.Header().Get("Content-Type") != "application/problem+json" || !strings.Contains(program.Body.String(), test.want) {
			t.Errorf("%s: a program gets %d %v\n%s", test.want, program.Code, program.Header(), program.Body)
		}
	}
}

// TestStrictTransport: each response over TLS, and none without TLS, makes the browser use TLS from then on.
func TestStrictTransport(t *testing.T) {
	_, h, _ := newGuard(t, func(c *Config) { c.Proxy = true })
	overTLS := func(r *http.Request) { r.TLS = &tls.ConnectionState{} }
	for _, path := range []string{"/", "/sign-in", "/healthz"} {
		if got := ask(h, "GET", path, overTLS).Header().Get("Strict-Transport-Security"); got != "max-age=31536000" {
			t.Errorf("%s over TLS: %q", path, got)
		}
		if got := ask(h, "GET", path, with("X-Forwarded-Proto", "https")).Header().Get("Strict-Transport-Security"); got != "" {
			t.Errorf("%s without TLS: %q", path, got)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, test := range []struct {
		c    Config
		want string
	}{
		{Config{Users: []User{{"a", Admin, hash()}, {"a", Viewer, hash()}}}, `user "a" is named twice`},
		{Config{Tokens: []Token{{Name: "a"}, {Name: "a"}}}, `token "a" is named twice`},
		{Config{Users: []User{{"a", Admin, "secret"}}}, "is not a bcrypt hash"},
		{Config{Hosts: []string{"jobs.example:7070"}}, `"jobs.example:7070" is not a host such as jobs.example.org`},
		{Config{Hosts: []string{""}}, "without a port"},
	} {
		if _, err := New(test.c); err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
}

func TestStreamsEndWithTheirSession(t *testing.T) {
	g, _, _ := newGuard(t, nil)
	begun, ended := make(chan struct{}), make(chan error, 1)
	h := g.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
		ended <- context.Cause(r.Context())
	}))
	ada := cookieOf(t, signIn(h, "ada", password, ""))
	go ask(h, "GET", "/events", ada)
	<-begun
	if w := ask(h, "POST", "/sign-out", ada); w.Code != 303 || !strings.Contains(w.Header().Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("sign out: %d %v", w.Code, w.Header())
	}
	if err := <-ended; err != context.Canceled {
		t.Errorf("the stream ended with %v", err)
	}
	if w := ask(h, "GET", "/", ada); w.Code != 401 {
		t.Errorf("after the sign-out: got %d, want 401", w.Code)
	}
}
