package dash

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestIDSizeLaw compares idSize with a regular expression.
func TestIDSizeLaw(t *testing.T) {
	begins := regexp.MustCompile("^(?:" + strings.Join([]string{
		`[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}`,
		`\[[0-9a-fA-F:.]*:[0-9a-fA-F:.]*\](?::\d+)?`,
		`[0-9A-Za-z_]*\d[0-9A-Za-z_]*(?:[.:]\d+)*`,
	}, "|") + ")")
	part := rapid.SampledFrom([]string{"0198c2f0", "abcdefab", "-1b2c", "-0123456789ab", "[2001:db8", "::1", "]", "[", ":", ".", ":443", ".5", "a", "G", "_", "7", " ", "-", "é"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(part, 0, 10).Draw(t, "parts"), "")
		if got, want := idSize(text), len(begins.FindString(text)); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	})
}

// TestKeptLaw compares kept and named with regular expressions.
func TestKeptLaw(t *testing.T) {
	keptBehind := regexp.MustCompile(`(?i)\b(?:status|code|http(?:/[\d.]+)?|errno|exit|signal|sqlstate)[:=]? ?\(?$`)
	namedBefore := regexp.MustCompile(`^ [A-Z][a-z]+`)
	part := rapid.SampledFrom([]string{"status", "CODE", "http", "HTTP/", "1.1", "errno", "exit", "Signal", "sqlstate", ":", "=", " ", "(", "x", "_", "-", "7", ".", "/", "A", "é"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(part, 0, 6).Draw(t, "parts"), "")
		if got, want := kept(text), keptBehind.MatchString(text); got != want {
			t.Errorf("behind %q a number is kept: %v, want %v", text, got, want)
		}
		if got, want := named(text), namedBefore.MatchString(text); got != want {
			t.Errorf("before %q a number is kept: %v, want %v", text, got, want)
		}
	})
}

// TestPlainSizeLaw: no ID starts in a part of a text that is skipped.
func TestPlainSizeLaw(t *testing.T) {
	part := rapid.SampledFrom([]string{"abcdefab", "-abcd", "-abcdefabcdef", "a", "G", "_", "7", " ", "-", "[::1]"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(part, 0, 10).Draw(t, "parts"), "")
		if idSize(text) > 0 {
			return
		}
		for i := range plainSize(text) {
			if n := idSize(text[i:]); n > 0 {
				t.Errorf("%q: %d bytes are skipped, in which there is %q", text, plainSize(text), text[i:i+n])
			}
		}
	})
}

func TestWithoutIDs(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"user 7 has no address", "user … has no address"},
		{"order 0198c2f0-1b2c-7abc-8def-0123456789ab is gone", "order … is gone"},
		{"GET https://api.example.com/v1/users/481516: status 503", "GET https://api.example.com/v1/users/…: status 503"},
		{"503 Service Unavailable after 30s", "503 Service Unavailable after …s"},
		{"took 250ms of 200ms", "took …ms of …ms"},
		{"dial tcp 10.0.3.17:5432: connect: connection refused", "dial tcp …: connect: connection refused"},
		{"dial tcp [2001:db8::1]:443: i/o timeout", "dial tcp …: i/o timeout"},
		{"customer cus_9s8d7f6g5h not found", "customer … not found"},
		{"no utf8 in sha256 of md5", "no utf8 in sha256 of md5"},
		{"exit status 2", "exit status 2"},
		{"ERROR: duplicate key (SQLSTATE 23505)", "ERROR: duplicate key (SQLSTATE 23505)"},
		{"HTTP 429 for key 12345", "HTTP 429 for key …"},
		{"out of memory", "out of memory"},
		{"451 4.3.0 try again", "… try again"},
		{"", ""},
		{"at 12:30:59.5 it ended", "at … it ended"},
	} {
		if got := withoutIDs(c.text); got != c.want {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}

func TestLiteral(t *testing.T) {
	for text, want := range map[string]string{
		"user … has no address":          "has no address",
		"dial tcp …: connection refused": ": connection refused",
		"…":                              "",
		"7 …":                            "",
		"out of memory":                  "out of memory",
		"relay smtp.example.net refused …: …": "relay smtp.example.net refused",
	} {
		if got := literal(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
