package jsonscan_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile/internal/jsonscan"
)

// FuzzScanner compares with encoding/json: input that encoding/json accepts must be accepted, and mean the same. Other accepted
// input must have control characters in a string.
func FuzzScanner(f *testing.F) {
	for _, text := range []string{
		``, ` `, `null`, `true`, `falsey`, `0`, `-0.5e+10`, `01`, `1.`, `1e`, `-`, `+1`, `.5`, `""`, `"a\u00e9\n\"\\\/\b\f\r\t"`, `"\ud83d\ude00"`, `"\ud83d"`,
		`"\ud83d\ud83d\ude00"`, `"\ud83d\u00zz"`, `"\u12"`, `"\x"`, `"\`, `"open`, "\"\xff\xc3\"", "\"a\nb\x00\"", `[]`, `[1,]`, `[,]`, `[1 2]`, `{}`, `{"a":1}`,
		`{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`, `{"a":{"b":[1,{"c":null}]}} `, `{"a":1,"a":2}`, `[[[[]]]]`, `[}`, `{]`, `1 2`, `{"\x":1}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s := jsonscan.New(text)
		s.Space()
		err := s.Skip(10_000)
		s.Space()
		got := err == nil && s.AtEnd()
		if s.Offset() > len(text) {
			t.Fatalf("%d bytes of %d are read", s.Offset(), len(text))
		}
		want := json.Valid(text)
		control := bytes.ContainsFunc(text, func(r rune) bool { return r < ' ' })
		if want && !got || got && !want && !control {
			t.Fatalf("%q: %v, %d bytes are read; valid for encoding/json: %v", text, err, s.Offset(), want)
		}
		if !want {
			return
		}
		checkString(t, text)
		checkNumber(t, text)
		checkNesting(t, bytes.Trim(text, " \t\r\n"))
	})
}

func checkString(t *testing.T, text []byte) {
	s := jsonscan.New(text)
	s.Space()
	raw, escaped, err := s.String()
	var want string
	if json.Unmarshal(text, &want) != nil || err != nil {
		return // another value, or null
	}
	if escaped {
		if raw, err = jsonscan.Unescape(nil, raw); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	}
	if got := string([]rune(string(raw))); got != want { // each byte that is not UTF-8 becomes U+FFFD
		t.Fatalf("%q is %q, want %q", text, got, want)
	}
}

func checkNumber(t *testing.T, text []byte) {
	s := jsonscan.New(text)
	s.Space()
	number := s.Number()
	var want json.Number
	if json.Unmarshal(text, &want) == nil && number != nil && string(number) != string(want) {
		t.Fatalf("%q is %q, want %q", text, number, want)
	}
}

func checkNesting(t *testing.T, text []byte) {
	if text[0] != '{' && text[0] != '[' {
		return
	}
	var whole, cut jsonscan.Nesting
	if size, ended := whole.End(text); size != len(text) || !ended {
		t.Fatalf("%q ends after %d bytes, %v", text, size, ended)
	}
	for i := range text {
		if size, ended := cut.End(text[i : i+1]); size != 1 || ended != (i == len(text)-1) {
			t.Fatalf("%q ends at byte %d, %v", text, i, ended)
		}
	}
	// The nesting depth of the text is enough for Skip, and two levels fewer are not.
	s := jsonscan.New(text)
	if err := s.Skip(whole.Deepest()); err != nil {
		t.Fatalf("%q is %d deep: %v", text, whole.Deepest(), err)
	}
	if s = jsonscan.New(text); !errors.Is(s.Skip(whole.Deepest()-2), jsonscan.ErrNesting) {
		t.Fatalf("%q is %d deep, and read with two levels fewer", text, whole.Deepest())
	}
}

func TestSkipAllocatesNothing(t *testing.T) {
	text := []byte(strings.Repeat(`{"a\n":["b\u00e9",1.5,{"c":null}],"d":`, 50) + `true` + strings.Repeat("}", 50))
	if n := testing.AllocsPerRun(100, func() {
		s := jsonscan.New(text)
		if err := s.Skip(100); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
