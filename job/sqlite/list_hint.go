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

// argsHints returns parts that stand in args that match. A value with escapes gives none: the args may have others.
func argsHints(matches []job.ArgsMatch) []string {
	var hints []string
	for _, m := range matches {
		if strings.Contains(m.Value, `\`) {
			continue
		}
		hint := longestRun(m.Value, func(r rune) bool {
			return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-' || r == '.'
		})
		if hint != "" {
			hints = append(hints, hint)
		}
	}
	return hints
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
