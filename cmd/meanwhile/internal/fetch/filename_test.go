package fetch

import (
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestFileName(t *testing.T) {
	tests := []struct{ url, want string }{
		{"https://example.com/", "example.com"},
		{"https://example.com", "example.com"},
		{"https://example.com/docs/index.html", "example.com_docs_index.html"},
		{"https://example.com/a-b.tar.gz", "example.com_a-b.tar.gz"},
		{"http://example.com/a.html", "example.com_a-#.html"},
		{"https://example.com:8443/a", "example.com_8443_a-#"},
		{"https://example.com/a?b=1", "example.com_a-#"},
		{"https://example.com/a/", "example.com_a_-#"},
		{"https://example.com/a_b", "example.com_a_b-#"},
		{"https://example.com/README.md", "example.com_README-#.md"},
		{"https://example.com/../../etc/passwd", "example.com_.._.._etc_passwd-#"},
		{"https://example.com/%2e%2e%2fx", "example.com__2e_2e_2fx-#"},
		{"https://example.com/.hidden", "example.com_-#.hidden"},
		{"https://nul/x", "nul_x"},
		{"https://nul/", "_nul-#"},
		{"https://con.example.com/", "_con.example-#.com"},
		{"https://[::1]/x", "___1__x-#"},
		{"https://example.com/a-0123456789abcdef.md", "example.com_a-0123456789abcdef-#.md"},
	}
	hash := regexp.MustCompile(`-[0-9a-f]{16}(\.[A-Za-z0-9]+)?$`)
	for _, test := range tests {
		u, err := url.Parse(test.url)
		if err != nil {
			t.Fatal(err)
		}
		got := fileName(u)
		if strings.Contains(test.want, "#") {
			got = hash.ReplaceAllString(got, "-#$1")
		}
		if got != test.want {
			t.Errorf("fileName(%s) = %s, want %s", test.url, got, test.want)
		}
		checkFileName(t, u)
	}
}

func checkFileName(t *testing.T, u *url.URL) {
	t.Helper()
	name := fileName(u)
	switch {
	case len(name) == 0 || len(name) > maxFileName:
		t.Errorf("%q: file name of %d bytes", u, len(name))
	case !regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_-])?$`).MatchString(name):
		t.Errorf("%q: file name %q", u, name)
	case !filepath.IsLocal(name) || filepath.Base(name) != name || reservedName.MatchString(name):
		t.Errorf("%q: file name %q leads out of the folder", u, name)
	}
}

// FuzzFileName checks the names of two URLs: they are safe, and the same only for the same URL.
func FuzzFileName(f *testing.F) {
	f.Add("https://example.com/a_b", "https://example.com/a/b")
	f.Add("https://example.com/A", "https://example.com/a")
	f.Add("https://example.com/", "http://example.com/")
	f.Add("https://con/", "https://_con/")
	f.Add("https://a.b/"+strings.Repeat("x", 300), "https://a.b/"+strings.Repeat("x", 301))
	f.Fuzz(func(t *testing.T, a, b string) {
		u, err := parseURL(a)
		if err != nil {
			return
		}
		checkFileName(t, u)
		v, err := parseURL(b)
		if err != nil {
			return
		}
		checkFileName(t, v)
		if canonical(u) != canonical(v) && strings.EqualFold(fileName(u), fileName(v)) {
			t.Errorf("%q and %q share the file name %q", u, v, fileName(u))
		}
	})
}

// canonical returns the same text for two URLs of the same resource, whose file name may be the same.
func canonical(u *url.URL) string {
	bare := *u
	bare.User = nil
	if bare.EscapedPath() == "" {
		bare.Path, bare.RawPath = "/", ""
	}
	return bare.String()
}
