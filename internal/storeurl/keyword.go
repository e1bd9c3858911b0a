package storeurl

import (
	"errors"
	"slices"
	"strings"
)

// A setting is a keyword with its value.
type setting struct{ key, value string }

var errKeywords = errors.New("it is not of the form KEYWORD=VALUE KEYWORD=VALUE, such as host=db dbname=app user=me password=secret: " +
	`a value with spaces is written in single quotes, in which ' is \' and \ is \\`)

const spaces = " \t\n\r\v\f"

// parseKeywords parses a keyword string by the rules of libpq.
func parseKeywords(text string) ([]setting, error) {
	var all []setting
	for text = strings.TrimLeft(text, spaces); text != ""; text = strings.TrimLeft(text, spaces) {
		key, rest, ok := strings.Cut(text, "=")
		key = strings.Trim(key, spaces)
		if !ok || !keyPattern.MatchString(key) {
			return nil, errKeywords
		}
		value, rest, ok := cutValue(strings.TrimLeft(rest, spaces))
		if !ok || strings.ContainsRune(value, 0) {
			return nil, errKeywords
		}
		if err := checkSetting(key, value); err != nil {
			return nil, err
		}
		all, text = append(all, setting{key, value}), rest
	}
	return all, nil
}

// cutValue cuts the value off the start of text. It returns false if a quote is not closed.
func cutValue(text string) (value, rest string, ok bool) {
	quoted := strings.HasPrefix(text, "'")
	i := 0
	if quoted {
		i = 1
	}
	var b strings.Builder
	for ; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\'':
			return b.String(), text[i+1:], true
		case !quoted && strings.IndexByte(spaces, c) >= 0:
			return b.String(), text[i:], true
		case c == '\\':
			if i++; i < len(text) {
				b.WriteByte(text[i])
			}
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), "", !quoted
}

// shownKeys are the keywords that identify the database. Their values may be shown.
var shownKeys = []string{"service", "host", "hostaddr", "port", "dbname", "database", "user"}

// redactKeywords formats the settings that identify the database, and shows whether there is a password.
func redactKeywords(all []setting) string {
	var shown []string
	for _, s := range all {
		switch {
		case s.key == "password":
			shown = append(shown, s.key+"="+hidden)
		case slices.Contains(shownKeys, s.key):
			shown = append(shown, s.key+"="+quoteValue(s.value))
		}
	}
	if len(shown) == 0 {
		return "postgres:" + hidden
	}
	return strings.Join(shown, " ")
}

func quoteValue(value string) string {
	if value != "" && !strings.ContainsAny(value, spaces+`'\`) {
		return value
	}
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(value) + "'"
}
