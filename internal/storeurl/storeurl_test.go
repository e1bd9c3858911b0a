package storeurl_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile/internal/storeurl"
)

func TestRedacted(t *testing.T) {
	for text, want := range map[string]string{
		"postgres://me:s3cret@db:5432/app?sslmode=require":   "postgres://me:xxxxx@db:5432/app",
		"postgres://me:s3%2Fcret@db/app":                     "postgres://me:xxxxx@db/app",
		"postgres://:s3cret@db/app":                          "postgres://:xxxxx@db/app",
		"postgres://me@db/app?password=s3cret":               "postgres://me@db/app",
		"postgres:///app?host=/run/s3":                       "postgres:///app",
		"postgres://a:1,[::1]:2,c/app":                       "postgres://a:1,[::1]:2,c/app",
		"mysql://me:s3cret@db/app":                           "mysql://me:xxxxx@db/app",
		"host=db user=me password=s3cret dbname=app":         "host=db user=me password=xxxxx dbname=app",
		`  password = 's3 \'cret' host='a b' options='-c x'`: `password=xxxxx host='a b'`,
		"sslmode=disable":                                    "postgres:xxxxx",
		"jobs.db":                                            "jobs.db",
		"what?.db":                                           "what?.db",
		"me@corp/jobs.db":                                    "me@corp/jobs.db",
		"sqlite:jobs.db?_pragma=x(s3)":                       "sqlite:jobs.db",
		"sqlite:///var/lib/a=b.db":                           "sqlite:///var/lib/a=b.db",

		"postgres://me:s3%cret@db/app":          "postgres://xxxxx",
		"postgres://me:s3#cret@db/app":          "postgres://xxxxx",
		"postgres://me:s3/cret@db/app":          "postgres://xxxxx",
		"postgres://me:12/cret@db/app":          "postgres://xxxxx",
		"postgres://me:s3?cret@db/app":          "postgres://xxxxx",
		"postgres://me:s3@cret@db/app":          "postgres://xxxxx",
		"postgres://me:s3cret/app":              "postgres://xxxxx",
		"postgres://me%3As3cret%40db/app":       "postgres://xxxxx",
		"postgres://me@db/app?password=s3&cret": "postgres://xxxxx",
		"postgres://me:s3\ncret@db/app":         "postgres://xxxxx",
		"postgres:/me:s3cret@db/app":            "postgres:xxxxx",
		"me:s3cret@db/app":                      "me:xxxxx",
		"host=db password=s3 cret":              "postgres:xxxxx",
		"host=db password='s3cret":              "postgres:xxxxx",
		"host=me:s3cret@db":                     "postgres:xxxxx",
		"dbname=postgres://me:s3cret@db/app":    "postgres:xxxxx",
		`"postgres://me:s3cret@db/app"`:         "xxxxx",
		" postgres://me:s3cret@db/app":          "xxxxx",
		"m:s3cret@db/app":                       "xxxxx",
		"sqlite://me:s3cret@db/app":             "sqlite:xxxxx",
		"sqlite:host=db password=s3cret":        "sqlite:xxxxx",
		"file:postgres://me:s3cret@db/app":      "file:xxxxx",
	} {
		got := storeurl.Redacted(text)
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
		err := storeurl.Check(text)
		if refused := err != nil; refused != (strings.HasSuffix(want, "xxxxx") && text != "sslmode=disable") {
			t.Errorf("%q: the error is %v", text, err)
		}
		if err != nil && (strings.Contains(err.Error(), "s3") || strings.Contains(err.Error(), "cret@")) {
			t.Errorf("%q: the error shows the password: %v", text, err)
		}
	}
}

// TestRedactedScheme: nothing is hidden where there is nothing.
func TestRedactedScheme(t *testing.T) {
	for _, text := range []string{"memory:", "redis:", "sqlite:"} {
		if got := storeurl.Redacted(text); got != text {
			t.Errorf("%q: got %q", text, got)
		}
	}
}

func TestScheme(t *testing.T) {
	for text, want := range map[string]string{
		"postgres://db/app": "postgres", "sqlite:jobs.db": "sqlite", "jobs.db": "", `C:\jobs.db`: "", "/a=b:c": "",
		"host=db": "postgres", " dbname = app": "postgres", "./host=db": "", "": "",
	} {
		if got := storeurl.Scheme(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// FuzzPassword puts a password with other characters around it in every place where a password may be. No text may show it.
func FuzzPassword(f *testing.F) {
	for _, seed := range []string{"", "%", "#", "/", "?", "@", ":", "&", "=", " ", "'", `\`, "1", "://", "@h/", "?a=b", "\n", "[", "%zz", "password=", "é"} {
		f.Add(seed, seed)
		f.Add(seed, "x")
	}
	const secret = "hunter2"
	f.Fuzz(func(t *testing.T, before, after string) {
		if strings.Contains(before+after, "hunter2") || strings.HasPrefix(before, "//") { // me://hunter2@db is a URL whose user is hunter2
			t.Skip()
		}
		password := before + secret + after
		for _, text := range []string{
			"postgres://me:" + password + "@db:5432/app",
			"postgresql://:" + password + "@db",
			"postgres://me:" + url.QueryEscape(password) + "@db/app",
			"postgres://me@db/app?sslmode=disable&password=" + url.QueryEscape(password),
			"mysql://me:" + password + "@db/app",
			`"postgres://me:` + password + `@db/app"`,
			"sqlite://me:" + password + "@db/app",
			"me:" + password + "@db/app",
			"host=db password='" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(password) + "' user=me",
		} {
			if shown := storeurl.Redacted(text); strings.Contains(shown, secret) {
				t.Errorf("%q is shown as %q", text, shown)
			}
			if err := storeurl.Check(text); err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("%q: %v", text, err)
			}
		}
	})
}
