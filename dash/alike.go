package dash

import (
	"slices"
	"strings"
)

const (
	anything  = "…" // placeholder for an omitted part
	shortWord = 6   // words of up to this many bytes, digits included, are kept, such as sha256 or utf8
)

// saysWhat are words that give a number after them a meaning: status 503, exit code 2.
var saysWhat = [...]string{"status", "code", "http", "errno", "exit", "signal", "sqlstate"}

// withoutIDs returns a text with the parts that differ between similar texts replaced by [anything].
func withoutIDs(text string) string {
	var b strings.Builder
	end := 0
	for at := 0; at < len(text); {
		size := idSize(text[at:])
		if size == 0 {
			at += max(plainSize(text[at:]), 1)
			continue
		}
		from, word := at, text[at:at+size]
		if at += size; keepWord(word, text[:from], text[at:]) {
			continue
		}
		between := text[end:from]
		if end == 0 || strings.TrimSpace(between) != "" { // two adjacent IDs become one placeholder
			b.WriteString(between)
			b.WriteString(anything)
		}
		b.WriteString(unit(word))
		end = at
	}
	b.WriteString(text[end:])
	return b.String()
}

// idSize returns the length of an ID at the start of a text, or 0 if there is none. An ID is a part that may differ between similar texts: a UUID; an
// IPv6 address in brackets, with its port; a number, an IPv4 address, a time, or a word with digits. The same as a regular expression took a third of
// the time of the failures page.
func idSize(text string) int {
	if n := uuidSize(text); n > 0 {
		return n
	}
	if n := bracketedSize(text); n > 0 {
		return n
	}
	n := run(text, isWord)
	if !strings.ContainsAny(text[:n], "0123456789") {
		return 0
	}
	return n + numbersSize(text[n:])
}

// plainSize returns how many bytes of a word without digits can be skipped because no ID starts in them. The last bytes are kept, since they may be
// the start of a UUID.
func plainSize(text string) int {
	n := run(text, isWord)
	if n > uuidBegin {
		return n - uuidBegin
	}
	return n
}

// uuidBegin is the number of digits before the first dash of a UUID.
const uuidBegin = 8

// uuidSize returns the size of a UUID at the start of a text, or 0.
func uuidSize(text string) int {
	n := 0
	for i, digits := range [...]int{uuidBegin, 4, 4, 4, 12} {
		if i > 0 {
			if n >= len(text) || text[n] != '-' {
				return 0
			}
			n++
		}
		if len(text) < n+digits || run(text[n:n+digits], isHex) < digits {
			return 0
		}
		n += digits
	}
	return n
}

// bracketedSize returns the size of an IPv6 address in brackets at the start of a text, with its port, or 0.
func bracketedSize(text string) int {
	if !strings.HasPrefix(text, "[") {
		return 0
	}
	n := 1 + run(text[1:], func(c byte) bool { return isHex(c) || c == ':' || c == '.' })
	if n == len(text) || text[n] != ']' || !strings.Contains(text[:n], ":") {
		return 0
	}
	if n++; n < len(text) && text[n] == ':' {
		if port := run(text[n+1:], isDigit); port > 0 {
			n += 1 + port
		}
	}
	return n
}

// numbersSize returns the size of a sequence of numbers, each preceded by a dot or a colon.
func numbersSize(text string) (n int) {
	for n < len(text) && (text[n] == '.' || text[n] == ':') {
		digits := run(text[n+1:], isDigit)
		if digits == 0 {
			break
		}
		n += 1 + digits
	}
	return n
}

// run returns how many bytes at the start of a text belong to a class.
func run(text string, of func(byte) bool) int {
	for i := range len(text) {
		if !of(text[i]) {
			return i
		}
	}
	return len(text)
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isHex(c byte) bool   { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }
func isWord(c byte) bool  { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' }

func keepWord(word, before, after string) bool {
	letter := word[0] < '0' || word[0] > '9'
	if letter && word[0] != '[' && len(word) <= shortWord {
		return true
	}
	return len(word) == 3 && named(after) || len(word) <= 5 && kept(before)
}

// named reports whether the text after a number gives it a name, as in 404 Not Found.
func named(after string) bool {
	return len(after) > 2 && after[0] == ' ' && 'A' <= after[1] && after[1] <= 'Z' && 'a' <= after[2] && after[2] <= 'z'
}

// kept reports whether the text before a number gives it a meaning, as in status 503. A regular expression took as long as the rest of withoutIDs.
func kept(before string) bool {
	before = strings.TrimSuffix(strings.TrimSuffix(before, "("), " ")
	if n := len(before); n > 0 && (before[n-1] == ':' || before[n-1] == '=') {
		before = before[:n-1]
	}
	if version := strings.TrimRight(before, "0123456789."); len(version) < len(before) {
		version, cut := strings.CutSuffix(version, "/")
		return cut && endsInWord(version, "http")
	}
	return slices.ContainsFunc(saysWhat[:], func(word string) bool { return endsInWord(before, word) })
}

// endsInWord reports whether a text ends in a whole word, ignoring case.
func endsInWord(text, word string) bool {
	begin := len(text) - len(word)
	return begin >= 0 && (begin == 0 || !isWord(text[begin-1])) && strings.EqualFold(text[begin:], word)
}

// unit returns the unit of a duration or a size, such as ms, or "".
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
