package sqlite

import (
	"strings"

	"github.com/meanwhile-go/meanwhile/job"
)

// Hints are parts of what is looked for that stand in the stored JSON as they are, however it was written.

// errorHint returns the longest part of a text that stands, in lower case, in the detail of a job with an error that has
// the text in it. i and k are left out: other letters than theirs become them in lower case.
func errorHint(part string) string {
	return longestRun(strings.ToLower(part), func(r rune) bool {
		return 'a' <= r && r <= 'z' && r != 'i' && r != 'k' || '0' <= r && r <= '9' || strings.ContainsRune(" .,:;_-()[]=", r)
	})
}

// An argsHint is what the args of all jobs have that match, if no letter is escaped in them: value, and, unless raw is empty, raw or quoted,
// which are a name and what the value begins with. Args are stored without white space around a colon, see [job.New].
type argsHint struct{ value, raw, quoted string }

// findArgsHint returns the longest hint that one of the matches gives; a value with escapes gives none.
func findArgsHint(matches []job.ArgsMatch) (longest argsHint) {
	for _, m := range matches {
		if strings.Contains(m.Value, `\`) {
			continue
		}
		h := argsHint{value: longestRun(m.Value, plainInJSON)}
		// A number may be an index of an array, which has no name.
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

// plainInJSON reports whether JSON without escapes has a character as it is.
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
