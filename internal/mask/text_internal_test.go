package mask

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestMayHideLaw: if mayHide reports no name in a text, the regular expression does not change it.
func TestMayHideLaw(t *testing.T) {
	m := New(append([]string{"x", "9"}, Default...))
	part := rapid.OneOf(
		rapid.SampledFrom(Default), rapid.SampledFrom([]string{"x", "9", "K", "\u017f", "PassWord", "api-KEY", "api__key", "a", "-", "_", " ", "\t", "\n", "\v", "\f", "\r", `\`, `"`, ":", "=", ",", "bearer ", "é"}),
	)
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(part, 0, 12).Draw(t, "parts"), "")
		if masked := m.text.ReplaceAllString(text, "${1}"+Shown); masked != m.Text(text) {
			t.Errorf("%q becomes %q, want %q", text, m.Text(text), masked)
		}
	})
}

// TestMayHide: the regular expression is not run on texts like most errors, and on others only from the first name on.
func TestMayHide(t *testing.T) {
	m := New(Default)
	for text, want := range map[string]int{
		"get https://example.com/17: connection timed out":    -1,
		"user 17 has no address":                              -1,
		"dial tcp 10.0.0.7:5432: connect: connection refused": -1,
		"tokens: 17, token 17":                                -1,
		"get /: the token: 17":                                11 - 1,
		"a client_secret=17":                                  2 - 1, // it contains another name
		`{\"Api-Key\" : 17}`:                                  3 - 1,
		"token=17":                                            0,
	} {
		if got := m.mayHide(text); got != want {
			t.Errorf("%s: from %d on, want %d", text, got, want)
		}
	}
	if m := New([]string{"a.b"}); m.Text("a.b=17") != "a.b="+Shown {
		t.Errorf("a name with a dot is not hidden: %s", m.Text("a.b=17"))
	}
}
