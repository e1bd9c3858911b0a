package access

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestNewToken(t *testing.T) {
	text, sum := NewToken()
	var made Token
	if err := made.UnmarshalText([]byte("shop:viewer:" + sum)); err != nil || made.Name != "shop" || made.Role != Viewer {
		t.Fatalf("got %+v, %v", made, err)
	}
	all := tokens{{Name: "other"}, made}
	if found, ok := all.find(text); !ok || found != made {
		t.Errorf("find %s: %+v, %t", text, found, ok)
	}
	if _, ok := all.find(text + "x"); ok {
		t.Error("another text finds the token")
	}
	if again, _ := NewToken(); again == text || len(text) != 46 {
		t.Errorf("tokens %s and %s", text, again)
	}
}

func TestTokenText(t *testing.T) {
	const secret = "the-token-itself"
	for text, want := range map[string]string{
		"shop":                 "a token is written as NAME:ROLE:HASH",
		"shop:admin:" + secret: `token "shop": what stands for the hash is no SHA-256 of 64 hexadecimal digits: make one with: meanwhile serve new-token`,
		"shop:x:00":            `"x" is not a role`,
		":admin:00":            "the name is empty",
	} {
		var made Token
		if err := made.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// FuzzHeaders sends arbitrary headers to a guard, which must refuse each request with an answer that says so.
func FuzzHeaders(f *testing.F) {
	for _, seed := range [][3]string{
		{"Bearer x", "meanwhile=" + strings.Repeat("A", 43), "192.0.2.1, ::1"},
		{"bearer  " + strings.Repeat("x", 600), "meanwhile=;meanwhile=x", ",,"},
		{"Bearer", `meanwhile="a b"`, "fe80::1%eth0"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	_, h, _ := newGuard(f, func(c *Config) { c.Proxy = true })
	f.Fuzz(func(t *testing.T, authorization, cookies, forwarded string) {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header = http.Header{"Cookie": {cookies}, "X-Forwarded-For": {forwarded}, "X-Forwarded-Proto": {forwarded}}
		if authorization != "" {
			r.Header.Set("Authorization", authorization)
		}
		if text, err := bearer(r); err == nil && (text == "") != (authorization == "") {
			t.Errorf("%q is the token %q", authorization, text)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusUnauthorized && w.Code != http.StatusTooManyRequests {
			t.Errorf("%q, %q: got %d", authorization, cookies, w.Code)
		}
	})
}
