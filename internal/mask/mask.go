// Package mask hides the values of fields that are secret, such as passwords in the args of jobs.
package mask

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// Shown is what stands in the place of a hidden value.
const Shown = "•••"

// Default are the names that are hidden where nobody says otherwise.
var Default = []string{
	"password", "passwd", "passphrase", "secret", "client_secret", "token", "access_token", "refresh_token", "id_token",
	"authorization", "api_key", "private_key", "secret_key", "access_key", "cookie", "set_cookie", "credentials",
}

// A Mask hides the values of fields with some names, regardless of case, "-" and "_". The zero value hides nothing.
type Mask struct {
	names map[string]bool
	text  *regexp.Regexp // a name, what joins it to its value, the value
}

// New makes a mask.
func New(names []string) *Mask {
	m := &Mask{names: map[string]bool{}}
	var alternatives []string
	for _, name := range names {
		plain := fold(name)
		if plain == "" || m.names[plain] {
			continue
		}
		m.names[plain] = true
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

// fold makes names the same that differ only in case, "-" and "_".
func fold(name string) string {
	return strings.NewReplacer("-", "", "_", "", " ", "").Replace(strings.ToLower(name))
}

// Hides reports whether fields of this name are hidden.
func (m *Mask) Hides(name string) bool { return m.names[fold(name)] }

// HidesIn reports whether a text is JSON in which a field is hidden, at any depth.
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

// Text hides values in a text where they stand behind their name.
func (m *Mask) Text(text string) string {
	if m.text == nil {
		return text
	}
	return m.text.ReplaceAllString(text, "${1}"+Shown)
}

// JSON hides values in JSON, at any depth. Fields keep their order and numbers their digits. What is no JSON becomes a string of it,
// with values hidden as in a text.
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

// Map hides values in a map of names and texts, and returns a copy.
func (m *Mask) Map(fields map[string]string) map[string]string {
	masked := make(map[string]string, len(fields))
	for name, value := range fields {
		if masked[name] = m.Text(value); m.Hides(name) {
			masked[name] = Shown
		}
	}
	return masked
}
