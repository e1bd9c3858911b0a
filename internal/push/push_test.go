package push_test

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/meanwhile-go/meanwhile/internal/push"
)

func TestPost(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		unpacked, err := gzip.NewReader(r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		body, _ := io.ReadAll(unpacked)
		user, password, _ := r.BasicAuth()
		if string(body) != "hello" || user != "me" || password != "secret" || r.URL.String() != "/base/push?x=y&a=b" || r.Header.Get("Content-Type") != "text/plain" {
			t.Errorf("got %q from %q at %s, %v", body, user, r.URL, r.Header)
		}
		_, _ = io.WriteString(w, "welcome")
	}))
	defer server.Close()
	c, err := push.New(strings.Replace(server.URL, "http://", "http://me:secret@", 1)+"/base/?x=y", push.Config{Gzip: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	answer, err := c.Post(t.Context(), c.Base()+"/push", "a=b", "text/plain", []byte("hello"))
	if err != nil || string(answer) != "welcome" {
		t.Errorf("got %q, %v", answer, err)
	}
}

func TestAnswers(t *testing.T) {
	for status, refused := range map[int]bool{
		400: true, 413: true, 422: true,
		301: false, 401: false, 403: false, 404: false, 405: false, 408: false, 409: false, 429: false, 500: false, 502: false, 503: false, 504: false,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.Header().Set("Location", "http://127.0.0.1:1/")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "no\x1b[2J\xff"+strings.Repeat("!", 1000))
		}))
		c, err := push.New(server.URL, push.Config{Header: http.Header{"Authorization": {"ApiKey hidden"}}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Post(t.Context(), "/", "", "text/plain", nil)
		var delayed interface{ RetryAfter() time.Duration }
		if push.Refused(err) != refused || !errors.As(err, &delayed) || delayed.RetryAfter() != 7*time.Second {
			t.Errorf("%d: %v, refused: %v", status, err, push.Refused(err))
		}
		if text := err.Error(); len(text) > 500 || !utf8.ValidString(text) || strings.Contains(text, "\x1b") || strings.Contains(text, "hidden") {
			t.Errorf("%q", text)
		}
		c.Close()
		server.Close()
	}
}

func TestSecretsStayOutOfErrors(t *testing.T) {
	for _, address := range []string{"ftp://me:secret@host/", "http://me:secret@host:no/", "//me:secret@", "https://me:secret@", "https://secret@", "http:me:secret@host", "http:/me:secret@host", "http://me:secret@127.0.0.1:1/x?key=secret"} {
		c, err := push.New(address, push.Config{})
		if err == nil {
			_, err = c.Post(t.Context(), "/x", "", "text/plain", nil)
		}
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
