package dash

import (
	"regexp"
	"strings"
)

// unlike is what texts that say the same may differ in: numbers, addresses, IDs. A word with digits in it is one when it is long.
var unlike = regexp.MustCompile(strings.Join([]string{
	`[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}`, // a UUID
	`\[[0-9a-fA-F:.]*:[0-9a-fA-F:.]*\](?::\d+)?`,           // an IPv6 address
	`[0-9A-Za-z_]*\d[0-9A-Za-z_]*(?:[.:]\d+)*`,             // a number, an IPv4 address, a time, or a word with digits
}, "|"))

// kept is what precedes a number that says what happened: status 503, exit code 2.
var kept = regexp.MustCompile(`(?i)\b(?:status|code|http(?:/[\d.]+)?|errno|exit|signal|sqlstate)[:=]? ?\(?$`)

// named is what follows a number with a name of its own: 404 Not Found.
var named = regexp.MustCompile(`^ [A-Z][a-z]+`)

const (
	anything  = "…" // stands for what was left out
	shortWord = 6   // bytes, digits included, that are kept of a word such as sha256 or utf8
)

// withoutIDs returns a text without what differs between texts that say the same.
func withoutIDs(text string) string {
	var b strings.Builder
	end := 0
	for _, at := range unlike.FindAllStringIndex(text, -1) {
		word := text[at[0]:at[1]]
		if keepWord(word, text[:at[0]], text[at[1]:]) {
			continue
		}
		between := text[end:at[0]]
		if end == 0 || strings.TrimSpace(between) != "" { // two in a row are one
			b.WriteString(between)
			b.WriteString(anything)
		}
		b.WriteString(unit(word))
		end = at[1]
	}
	b.WriteString(text[end:])
	return b.String()
}

func keepWord(word, before, after string) bool {
	letter := word[0] < '0' || word[0] > '9'
	if letter && word[0] != '[' && len(word) <= shortWord {
		return true
	}
	if len(word) == 3 && named.MatchString(after) {
		return true
	}
	return len(word) <= 5 && kept.MatchString(before)
}

// unit returns what follows the number of a duration or a size, such as ms, or nothing.
func unit(word string) string {
	rest := strings.TrimLeft(word, "0123456789.:")
	switch rest {
	case "ns", "us", "ms", "s", "m", "h", "B", "kB", "KB", "MB", "GB", "KiB", "MiB", "GiB":
		return rest
	}
	return ""
}

// literal returns the longest part of a text without IDs, by which the jobs of a group are found. It may be empty.
func literal(alike string) string {
	longest := ""
	for part := range strings.SplitSeq(alike, anything) {
		if part = strings.TrimSpace(part); len(part) > len(longest) {
			longest = part
		}
	}
	if len(longest) < 4 {
		return ""
	}
	return longest
}
