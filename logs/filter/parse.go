package filter

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bounds of a filter, so that a hostile one costs little.
const (
	maxTerms  = 256
	maxDepth  = 64 // of parentheses
	maxWords  = 64 // of a phrase
	maxRegexp = 1000
)

// Parse reads a filter. Its error is a [*Error].
//
//	filter = and { "or" and }
//	and    = not { ["and"] not }
//	not    = { "not" | "-" } ( "(" filter ")" | word | prefix* | "phrase" | key op value )
//	op     = "=" | "!=" | ">" | ">=" | "<" | "<=" | "~" | "!~"
//
// An empty text matches all. The guide to searching, docs/logs-search.md, explains what each of them means.
func Parse(text string) (Filter, error) {
	p := &parser{text: text}
	switch {
	case len(text) > MaxText:
		return Filter{}, p.errorf(0, "it is %d bytes long, at most %d are: ask for less at once", len(text), MaxText)
	case !utf8.ValidString(text):
		return Filter{}, p.errorf(0, "it is not UTF-8: bytes that are none are found with message~ and \\x")
	}
	if p.blanks(); p.end() {
		return Filter{text: text}, nil
	}
	e, err := p.or()
	if err != nil {
		return Filter{}, err
	}
	if !p.end() {
		return Filter{}, p.errorf(p.pos, "there is no ( for this ): quote it to search for it")
	}
	return Filter{text: text, expr: e}, nil
}

type parser struct {
	text         string
	pos          int
	depth, terms int
}

func (p *parser) errorf(pos int, format string, args ...any) error {
	return &Error{Column: utf8.RuneCountInString(p.text[:pos]) + 1, Problem: fmt.Sprintf(format, args...)}
}

func (p *parser) or() (expr, error) {
	first, err := p.and()
	if err != nil {
		return nil, err
	}
	some := anyOf{first}
	for p.keyword("or") {
		next, err := p.and()
		if err != nil {
			return nil, err
		}
		some = append(some, next)
	}
	if len(some) == 1 {
		return first, nil
	}
	return some, nil
}

func (p *parser) and() (expr, error) {
	var all allOf
	for {
		needed := len(all) == 0 || p.keyword("and")
		if p.blanks(); !needed && (p.end() || p.peek() == ')' || p.isKeyword("or")) {
			break
		}
		e, err := p.not()
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return all, nil
}

func (p *parser) not() (expr, error) {
	negated := false
	for {
		if p.blanks(); p.keyword("not") {
			negated = !negated
		} else if p.peek() == '-' {
			if p.pos++; p.end() || isBlank(p.peek()) {
				return nil, p.errorf(p.pos-1, "- stands right before what it negates: leave it out, nothing finds a - alone")
			}
			negated = !negated
		} else {
			break
		}
	}
	e, err := p.part()
	if err == nil && negated {
		e = e.negate()
	}
	return e, err
}

// part parses a filter in parentheses, or a term.
func (p *parser) part() (expr, error) {
	begin := p.pos
	switch {
	case p.end() || p.peek() == ')' || p.isKeyword("or") || p.isKeyword("and"):
		return nil, p.errorf(p.pos, `a term is missing: give a word, a "phrase" or key=value; quote "and", "or" and "not" to search for them`)
	case p.peek() != '(':
		if p.terms++; p.terms > maxTerms {
			return nil, p.errorf(begin, "it has more than %d terms: a regular expression may say it in one", maxTerms)
		}
		return p.term()
	}
	p.pos++
	if p.depth++; p.depth > maxDepth {
		return nil, p.errorf(begin, "more than %d parentheses are open", maxDepth)
	}
	e, err := p.or()
	if err != nil {
		return nil, err
	}
	if p.peek() != ')' {
		return nil, p.errorf(begin, "there is no ) for this (: quote it to search for it")
	}
	p.pos++
	p.depth--
	p.blanks()
	return e, nil
}

func (p *parser) end() bool { return p.pos == len(p.text) }

// peek returns the next byte, or a blank at the end.
func (p *parser) peek() byte {
	if p.end() {
		return ' '
	}
	return p.text[p.pos]
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func (p *parser) blanks() {
	for !p.end() && isBlank(p.text[p.pos]) {
		p.pos++
	}
}

// isKeyword reports whether a keyword follows, in lower or upper case.
func (p *parser) isKeyword(name string) bool {
	rest := p.text[p.pos:]
	if !strings.HasPrefix(rest, name) && !strings.HasPrefix(rest, strings.ToUpper(name)) {
		return false
	}
	return len(rest) == len(name) || isBlank(rest[len(name)]) || strings.IndexByte(`()"`, rest[len(name)]) >= 0
}

func (p *parser) keyword(name string) bool {
	if p.blanks(); !p.isKeyword(name) {
		return false
	}
	p.pos += len(name)
	p.blanks()
	return true
}
