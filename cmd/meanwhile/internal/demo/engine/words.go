package engine

import (
	"strings"
	"unicode"
)

// The limits of a query.
const (
	longestQuery = 1000 // bytes
	mostWords    = 100
)

func checkLength(text string) error {
	if len(text) > longestQuery || len(strings.Fields(text)) > mostWords {
		return malformed("the text of a query: give up to %d bytes and %d words", longestQuery, mostWords)
	}
	return nil
}

// plain reduces a text to its letters and digits, with spaces between words, so that nothing in it has a meaning in an FTS5 expression.
func plain(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	}), " ")
}

// quoted returns an FTS5 string that matches the words of a text as a phrase.
func quoted(text string) string { return `"` + plain(text) + `"` }

// simple converts a simple query string to an FTS5 expression. Every text is accepted, since people type it.
//
//	a b     the default operator
//	a | b   or
//	a + b   and
//	-a      but not a
//	"a b"   side by side
//	a*      words that start with a
//
// Parentheses, ~ and ^ have no meaning.
func simple(text, operator string) (string, error) {
	if err := checkLength(text); err != nil {
		return "", err
	}
	var wanted, unwanted strings.Builder
	between, negated := operator, false
	for text != "" {
		var term string
		switch sign := text[0]; sign {
		case '|', '+':
			between = map[byte]string{'|': " OR ", '+': " AND "}[sign]
			text = text[1:]
			continue
		case '-':
			negated, text = true, text[1:]
			continue
		case '"':
			term, text, _ = strings.Cut(text[1:], `"`)
		default:
			end := strings.IndexAny(text, " \t\r\n|\"+") // a - within a word is not an operator
			if end < 0 {
				end = len(text)
			}
			term, text = text[:end], text[end:]
		}
		if plain(term) == "" {
			if term == "" {
				text = strings.TrimLeft(text, " \t\r\n")
			}
			negated = false
			continue
		}
		found := quoted(term)
		if strings.HasSuffix(term, "*") {
			found += "*"
		}
		if negated {
			join(&unwanted, " OR ", found)
		} else {
			join(&wanted, between, found)
		}
		between, negated = operator, false
	}
	switch {
	case unwanted.Len() == 0:
		return wanted.String(), nil
	case wanted.Len() == 0:
		return "", malformed("simple_query_string has nothing but words to leave out: give one to look for")
	}
	return "(" + wanted.String() + ") NOT (" + unwanted.String() + ")", nil
}

func join(to *strings.Builder, between, what string) {
	if to.Len() > 0 {
		to.WriteString(between)
	}
	to.WriteString(what)
}
