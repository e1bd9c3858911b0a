package live_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/live"
)

// mostBody is the maximum size of a form.
const mostBody = 64 << 10

func TestToken(t *testing.T) {
	tests := []struct {
		name, config  string
		authorization []string
		want          int
	}{
		{"right", secret, []string{"Bearer " + secret}, http.StatusNotFound},
		{"right, spelled otherwise", secret, []string{"bEARER  " + secret}, http.StatusNotFound},
		{"right, from a file", "\t" + secret + "\n", []string{"Bearer " + secret}, http.StatusNotFound},
		{"with a space in it", "two " + secret, []string{"Bearer two " + secret}, http.StatusNotFound},
		{"none", secret, nil, http.StatusUnauthorized},
		{"empty", secret, []string{""}, http.StatusUnauthorized},
		{"scheme only", secret, []string{"Bearer"}, http.StatusUnauthorized},
		{"scheme and a space", secret, []string{"Bearer "}, http.StatusUnauthorized},
		{"token only", secret, []string{secret}, http.StatusUnauthorized},
		{"other scheme", secret, []string{"Basic " + secret}, http.StatusUnauthorized},
		{"wrong", secret, []string{"Bearer " + strings.ToUpper(secret)}, http.StatusUnauthorized},
		{"too short", secret, []string{"Bearer " + secret[:len(secret)-1]}, http.StatusUnauthorized},
		{"too long", secret, []string{"Bearer " + secret + "x"}, http.StatusUnauthorized},
		{"second", secret, []string{"Bearer wrong", "Bearer " + secret}, http.StatusUnauthorized},
		{"nobody may", "", []string{"Bearer " + secret}, http.StatusForbidden},
		{"nobody may, no token", "", []string{"Bearer "}, http.StatusForbidden},
		{"nobody may, none", "", nil, http.StatusForbidden},
		{"nobody may, white space", " \n", []string{"Bearer  \n"}, http.StatusForbidden},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, remote := range []bool{false, true} {
				checked := false
				h := live.HandlerOf(live.Config{CancelToken: test.config, Remote: remote}, func() []inspect.Node {
					checked = true
					return shop()
				})
				r := local("POST", "/tree", sale)
				r.Header["Authorization"] = test.authorization
				w := ask(t, h, r)
				if w.Code != test.want || checked != (test.want == http.StatusNotFound) {
					t.Errorf("got status %d, snapshot taken: %t; want %d: %s", w.Code, checked, test.want, w.Body)
				}
				if got := w.Header().Get("WWW-Authenticate"); (got == "Bearer") != (w.Code == http.StatusUnauthorized) {
					t.Errorf("status %d: WWW-Authenticate is %q", w.Code, got)
				}
				if w.Code == http.StatusForbidden && !strings.Contains(w.Body.String(), "set CancelToken in live.Config") {
					t.Errorf("got %s, want the setting that allows it", w.Body)
				}
			}
		})
	}
}

// A page of another origin makes the browser send its request; it may even know the token.
func TestOtherOrigins(t *testing.T) {
	tests := []struct {
		name, site, origin string
		want               int
	}{
		{"no browser", "", "", http.StatusNotFound},
		{"own page", "same-origin", "http://localhost:6060", http.StatusNotFound},
		{"own page, old browser", "", "http://localhost:6060", http.StatusNotFound},
		{"other site", "cross-site", "http://evil.example", http.StatusForbidden},
		{"other port", "same-site", "http://localhost:8080", http.StatusForbidden},
		{"other site, old browser", "", "http://evil.example", http.StatusForbidden},
		{"other port, old browser", "", "http://localhost:8080", http.StatusForbidden},
		{"origin that is kept back", "", "null", http.StatusForbidden},
	}
	for _, test := range tests {
		for _, remote := range []bool{false, true} {
			r := local("POST", "/tree", sale)
			if test.site != "" {
				r.Header.Set("Sec-Fetch-Site", test.site)
			}
			if test.origin != "" {
				r.Header.Set("Origin", test.origin)
			}
			w := ask(t, live.HandlerOf(live.Config{CancelToken: secret, Remote: remote}, shop), r)
			if w.Code != test.want {
				t.Errorf("%s, remote=%t: got status %d, want %d: %s", test.name, remote, w.Code, test.want, w.Body)
			}
			if allowed := w.Header().Get("Access-Control-Allow-Origin"); allowed != "" {
				t.Errorf("%s: Access-Control-Allow-Origin is %q", test.name, allowed)
			}
		}
	}
}

func TestBadForm(t *testing.T) {
	const form = "application/x-www-form-urlencoded"
	tests := []struct {
		name, target, kind, body string
		status                   int
		want                     string
	}{
		{"empty", "/", form, "", 400, "send cancel and path in the body"},
		{"no path", "/", form, "cancel=4", 400, "send cancel and path in the body"},
		{"no number", "/", form, "path=shop", 400, "send cancel and path in the body"},
		{"in the query", "/?" + sale, form, "", 400, "send cancel and path in the body"},
		{"JSON", "/", "application/json", `{"cancel":4,"path":"shop"}`, 400, "send cancel and path in the body"},
		{"without a type", "/", "", sale, 400, "send cancel and path in the body"},
		{"broken type", "/", "a;b", sale, 400, "the form cannot be read"},
		{"broken escape", "/", form, "cancel=%zz&path=shop", 400, "the form cannot be read"},
		{"number that is none", "/", form, "cancel=" + secret + "&path=shop", 400, "cancel must be the number of a task"},
		{"number of no task", "/", form, "cancel=4294967296&path=shop", 400, "cancel must be the number of a task"},
		{"no such number", "/", form, "cancel=77&path=shop", 404, "no task has the number 77"},
		{"path of another", "/", form, "cancel=4&path=shop", 404, "no task has the number 4"},
		{"path in part", "/", form, "cancel=4&path=shop/orders", 404, "no task has the number 4"},
		{"path that has the token", "/", form, "cancel=4&path=" + secret, 404, "no task has the number 4"},
		{"longest", "/", form, sale + "&x=" + strings.Repeat("x", mostBody-len(sale)-3), 404, "task 4 cannot be canceled"},
		{"too long", "/", form, sale + "&x=" + strings.Repeat("x", mostBody-len(sale)-2), 413, "the form is longer than 65536 bytes"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h := live.HandlerOf(live.Config{CancelToken: secret}, shop)
			r := local("POST", test.target, test.body)
			r.Header.Set("Content-Type", test.kind)
			w := ask(t, h, r)
			if w.Code != test.status || !strings.HasPrefix(w.Body.String(), test.want) {
				t.Errorf("got status %d, %swant %d, %s", w.Code, w.Body, test.status, test.want)
			}
		})
	}
}

// An endless body is not read beyond the limit, and without the token not at all.
func TestEndlessBody(t *testing.T) {
	for authorization, most := range map[string]int{"Bearer " + secret: mostBody + 1, "Bearer wrong": 0} {
		body := &endless{}
		r := local("POST", "/", "")
		r.Header.Set("Authorization", authorization)
		r.Body, r.ContentLength = body, -1
		w := ask(t, live.HandlerOf(live.Config{CancelToken: secret}, shop), r)
		if body.read > most || w.Code < 400 {
			t.Errorf("read %d bytes, want up to %d; status %d", body.read, most, w.Code)
		}
	}
}

type endless struct{ read int }

func (e *endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	e.read += len(b)
	return len(b), nil
}

func (e *endless) Close() error { return nil }
