package probe

import (
	"errors"
	"net/url"
	"strings"
	"testing"
)

func TestParseAddress(t *testing.T) {
	tests := []struct{ text, url, short string }{
		{"localhost:6060", "http://localhost:6060/debug/meanwhile", "localhost:6060"},
		{":6060", "http://localhost:6060/debug/meanwhile", "localhost:6060"},
		{"localhost", "http://localhost:6060/debug/meanwhile", "localhost:6060"},
		{"[::1]:70", "http://[::1]:70/debug/meanwhile", "[::1]:70"},
		{"[::1]", "http://[::1]:6060/debug/meanwhile", "[::1]:6060"},
		{"host:80/tree", "http://host:80/tree", "host:80/tree"},
		{"http://host/tree", "http://host/tree", "host/tree"},
		{"http://host/", "http://host/", "host/"},
		{"http://host:81", "http://host:81/debug/meanwhile", "host:81"},
		{"https://host/tree?key=1#part", "https://host/tree?key=1", "https://host/tree?key=1"},
		{"http://me:secret@host/x", "http://me:xxxxx@host/x", "me:xxxxx@host/x"},
		{"unix:/run/a b.sock", "unix:/run/a b.sock", "unix:/run/a b.sock"},
		{"unix:///run/x.sock", "unix:/run/x.sock", "unix:/run/x.sock"},
		{"unix:x.sock", "unix:x.sock", "unix:x.sock"},
	}
	for _, test := range tests {
		a, err := ParseAddress(test.text)
		if err != nil {
			t.Errorf("%q: %v", test.text, err)
			continue
		}
		if got := a.full(); got != test.url {
			t.Errorf("%q: got %q, want %q", test.text, got, test.url)
		}
		if got := a.String(); got != test.short {
			t.Errorf("%q in short: got %q, want %q", test.text, got, test.short)
		}
	}
}

func TestParseAddressRefuses(t *testing.T) {
	for _, text := range []string{"", "unix:", "ftp://host", "host:port", "http://", "://x", "a b", "::1", "http://me:sec ret@host"} {
		_, err := ParseAddress(text)
		if _, ok := errors.AsType[*UsageError](err); !ok {
			t.Errorf("%q: got %v, want a UsageError", text, err)
			continue
		}
		if message := err.Error(); !strings.Contains(message, "give host:port") || strings.Contains(message, "\n") {
			t.Errorf("%q: got %q, want what to give, in a line", text, message)
		}
	}
}

func TestParseAddressShowsNoPassword(t *testing.T) {
	for _, text := range []string{"http://me:secret%@host", "http://me:secret#@host", "http://me:secret/x@host", "http://me:secret?x@host", "me:secret%@host", "ftp://me:secret@host"} {
		_, err := ParseAddress(text)
		if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "% is %25, # is %23, / is %2F") {
			t.Errorf("%q: got %v, want what to write, without the password", text, err)
		}
	}
}

func TestAddressKeepsItsQuery(t *testing.T) {
	a, err := ParseAddress("host:1/x?key=a%20b&max=1")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := a.with(url.Values{"max": {"5"}}), "http://host:1/x?key=a+b&max=5"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
