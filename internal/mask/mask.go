// Package mask hides the values of fields that are secret, such as passwords in the args of jobs.
package mask

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Shown replaces a hidden value.
const Shown = "•••"

// Default lists the names that are hidden unless others are configured.
var Default = []string{
	"password", "passwd", "passphrase", "secret", "client_secret", "token", "access_token", "refresh_token", "id_token",
	"authorization", "api_key", "private_key", "secret_key", "access_key", "cookie", "set_cookie", "credentials",
}

// A Mask hides the values of fields with certain names. Case, "-" and "_" in names are ignored. The zero value hides nothing.
type Mask struct {
	names map[string]bool
	plain bool           // all names are ASCII letters and digits
	text  *regexp.Regexp // matches a name, the characters between it and its value, and the value
}

// New returns a mask that hides fields with these names.
func New(names []string) *Mask {
	m := &Mask{names: map[string]bool{}, plain: true}
	var alternatives []string
	for _, name := range names {
		plain := fold(name)
		if plain == "" || m.names[plain] {
			continue
		}
		m.names[plain] = true
		m.plain = m.plain && strings.Trim(plain, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
		var letters []string
		for _, r := range plain {
			letters = append(letters, regexp.QuoteMeta(string(r)))
		}
		alternatives = append(alternatives, strings.Join(letters, "[-_]?"))
	}
	if len(alternatives) > 0 {
		m.text = regexp.MustCompile(`(?i)(\b(?:` + strings.Join(alternatives, "|") + `)\\?"?\s*[:=]\s*)` +
			`(?:\\"(?:[^"\\]|\\[^"])*\\"|"(?:[^"\\]|\\.)*"|(?:bearer|basic) +[^\s,;&]+|[^\s,;&}\])]+)`)
	}
	return m
}

// fold maps names that differ only in case, "-", "_" and spaces to the same text.
func fold(name string) string {
	return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(name))
}

// Hides reports whether fields of this name are hidden.
func (m *Mask) Hides(name string) bool { return m.names[fold(name)] }

// HidesIn reports whether a text is JSON with a field that is hidden, at any depth.
func (m *Mask) HidesIn(text string) bool {
	var value any
	return json.Unmarshal([]byte(text), &value) == nil && m.hidesIn(value)
}

func (m *Mask) hidesIn(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			if m.Hides(name) || m.hidesIn(inner) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, m.hidesIn)
	}
	return false
}

// Text hides values that follow a hidden name in a text.
func (m *Mask) Text(text string) string {
	if m.text == nil {
		return text
	}
	from := 0
	if m.plain {
		if from = m.mayHide(text); from < 0 {
			return text
		}
	}
	return text[:from] + m.text.ReplaceAllString(text[from:], "${1}"+Shown)
}

// mayHide returns the offset from which on a text may have a hidden name, including the byte before it, or -1 if it has none. It costs a fraction of
// the regular expression, which matches few texts, and those near their end: a page has a thousand texts.
func (m *Mask) mayHide(text string) int {
	for i := range len(text) {
		switch c := text[i]; {
		case c >= utf8.RuneSelf: // some non-ASCII letters are equal to ASCII letters in another case
			return 0
		case c == ':', c == '=':
			before := strings.TrimRight(text[:i], " \t\n\f\r")
			before = strings.TrimSuffix(strings.TrimSuffix(before, `"`), `\`)
			from := -1
			for name := range m.names {
				if at := endsIn(before, name); at >= 0 && (from < 0 || at < from) {
					from = at
				}
			}
			if from >= 0 {
				return max(from-1, 0)
			}
		}
	}
	return -1
}

// endsIn returns the offset of a folded name at the end of an ASCII text, or -1.
func endsIn(text, name string) int {
	i := len(text)
	for name != "" {
		if i--; i < 0 {
			return -1
		}
		c := text[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		last := len(name) - 1
		switch {
		case c == name[last]:
			name = name[:last]
		case c != '-' && c != '_':
			return -1
		}
	}
	return i
}

// JSON hides values in JSON, at any depth. Fields keep their order, and numbers their digits. Text that is not JSON becomes a JSON string, with
// values hidden as by Text.
func (m *Mask) JSON(text []byte) json.RawMessage {
	if len(m.names) == 0 || len(text) == 0 {
		return text
	}
	copied, err := Replace(text, func(path []string) (string, bool) { return Shown, m.Hides(path[len(path)-1]) })
	if err == nil {
		return copied
	}
	var out bytes.Buffer
	scalar(&out, m.Text(string(text)))
	return out.Bytes()
}

// Map returns a copy of a map of names and texts with values hidden.
func (m *Mask) Map(fields map[string]string) map[string]string {
	masked := make(map[string]string, len(fields))
	for name, value := range fields {
		if masked[name] = m.Text(value); m.Hides(name) {
			masked[name] = Shown
		}
	}
	return masked
}
