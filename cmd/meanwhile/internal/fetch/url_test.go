package fetch

import (
	"strings"
	"testing"
	"unicode"
)

func TestParseURL(t *testing.T) {
	tests := []struct{ text, want, wantErr string }{
		{text: "https://example.com/a?b=c#d", want: "https://example.com/a?b=c"},
		{text: "HTTP://Example.com", want: "http://Example.com"},
		{text: "example.com/x", want: "http://example.com/x"},
		{text: "example.com?to=http://a.b/", want: "http://example.com?to=http://a.b/"},
		{text: "localhost", want: "http://localhost"},
		{text: "box:8080/x", want: "http://box:8080/x"},
		{text: "[::1]:80/x", want: "http://[::1]:80/x"},
		{text: "http://bücher.example/ü", want: "http://b%C3%BCcher.example/%C3%BC"},
		{text: "word", wantErr: "has no scheme, and is not a host such as example.com"},
		{text: "", wantErr: "has no scheme, and is not a host such as example.com"},
		{text: "mailto:me@example.com", wantErr: "has no scheme, and is not a host such as example.com"},
		{text: "file:///etc/passwd", wantErr: `scheme "file" is neither http nor https`},
		{text: "http:/x", wantErr: "has no host"},
		{text: "http://:80/", wantErr: "has no host"},
		{text: "http://a b/", wantErr: "has a space inside"},
		{text: "http://a/\x1b[2J", wantErr: "has a control character inside"},
		{text: "http://a/\xff", wantErr: "not UTF-8"},
		{text: "http://a:0/", wantErr: "port 0 is not from 1 to 65535"},
		{text: "http://a/" + strings.Repeat("x", maxURL), wantErr: "longer than 65536 bytes"},
	}
	for _, test := range tests {
		u, err := parseURL(test.text)
		switch {
		case err == nil && test.wantErr == "" && u.String() == test.want:
		case err != nil && err.Error() == test.wantErr:
		default:
			t.Errorf("parseURL(%.40q) = %v, %v; want %q, %q", test.text, u, err, test.want, test.wantErr)
		}
	}
}

func TestQuoteHidesPasswords(t *testing.T) {
	for _, text := range []string{
		"http://me:secret@host/", "ftp://me:secret@host", "http://me:sec/ret@host/", "me:secret@host", "http://me:secret@a@b/ x",
		"http://me:sec?ret@host", "http://me:sec#ret@host", "http:/me:secret@host",
	} {
		if got := quote(text); strings.Contains(got, "sec") || strings.Contains(got, "ret") {
			t.Errorf("quote(%q) = %s", text, got)
		}
	}
	if got, want := quote("a\x1b\n"+strings.Repeat("ü", 100)), `"a\x1b\n`+strings.Repeat("ü", 57)+`…"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func FuzzParseURL(f *testing.F) {
	for _, text := range []string{"http://a/b?c#d", "example.com:80", "[::1]", "http://u:p@h/%2e%2e", "x://", "a.b/\x00", "//h", "http:h"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := parseURL(text)
		if err != nil {
			return
		}
		if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Fragment != "" {
			t.Errorf("parseURL(%q) = %q", text, u)
		}
		if strings.ContainsFunc(u.String(), unicode.IsControl) {
			t.Errorf("parseURL(%q) = %q with a control character", text, u)
		}
		again, err := parseURL(u.String())
		if err != nil || again.String() != u.String() {
			t.Errorf("parseURL(%q) = %v, %v; parsed from %q", u, again, err, text)
		}
		if password, ok := u.User.Password(); ok && strings.Contains(quote(text), ":"+password+"@") && password != "xxxxx" {
			t.Errorf("quote(%q) = %s", text, quote(text))
		}
		checkFileName(t, u)
	})
}
