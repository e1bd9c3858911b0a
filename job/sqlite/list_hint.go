package sqlite

import (
	"strings"

	"github.com/meanwhile-go/meanwhile/job"
)

// Hints are parts of the searched text that are in the stored JSON unchanged, however it was written.

// errorHint returns the longest part of a text that is, in lower case, in the detail of every job whose error contains the text.
// i and k are not used: the lower case of some other letters is also i or k.
func errorHint(part string) string {
	return longestRun(strings.ToLower(part), func(r rune) bool {
		return 'a' <= r && r <= 'z' && r != 'i' && r != 'k' || '0' <= r && r <= '9' || strings.ContainsRune(" .,:;_-()[]=", r)
	})
}

// An argsHint has texts that are in the args of all matching jobs, if no letter is escaped in these: value, and, unless raw is empty, raw or
// quoted, each a name followed by the start of the value. Args are stored without white space around a colon, see [job.New].
type argsHint struct{ value, raw, quoted string }

// findArgsHint returns the longest hint of any of the matches; a value with escapes has none.
func findArgsHint(matches []job.ArgsMatch) (longest argsHint) {
	for _, m := range matches {
		if strings.Contains(m.Value, `\`) {
			continue
		}
		h := argsHint{value: longestRun(m.Value, plainInJSON)}
		// A number may be the index of an array element, which has no name.
		name := m.Path[strings.LastIndexByte(m.Path, '.')+1:]
		if strings.TrimLeft(name, "0123456789+-") != "" && longestRun(name, plainInJSON) == name {
			begin := m.Value
			if end := strings.IndexFunc(begin, func(r rune) bool { return !plainInJSON(r) }); end >= 0 {
				begin = begin[:end]
			}
			h.raw, h.quoted = `"`+name+`":`+begin, `"`+name+`":"`+begin
		}
		if h.value != "" && len(h.value)+len(h.raw) > len(longest.value)+len(longest.raw) {
			longest = h
		}
	}
	return longest
}

// plainInJSON reports whether JSON without escapes contains a character as it is.
func plainInJSON(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-' || r == '.'
}

func longestRun(s string, safe func(rune) bool) string {
	longest := ""
	for _, run := range strings.FieldsFunc(s, func(r rune) bool { return !safe(r) }) {
		if len(run) > len(longest) {
			longest = run
		}
	}
	return longest
}
