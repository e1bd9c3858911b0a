package filter

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// A pattern is a regular expression, with the literals that each of its matches contains, in their order. They are searched first, which
// is much faster, and most texts do not contain them.
type pattern struct {
	expression *regexp.Regexp
	literals   [][]byte
}

func newPattern(text string) (*pattern, error) {
	expression, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	p := &pattern{expression: expression}
	if parsed, err := syntax.Parse(text, syntax.Perl); err == nil {
		p.require(parsed)
	}
	return p, nil
}

// require adds the literals that each match of an expression has, in the order in which it has them.
func (p *pattern) require(e *syntax.Regexp) {
	switch e.Op {
	case syntax.OpLiteral:
		if e.Flags&syntax.FoldCase == 0 && !slices.Contains(e.Rune, utf8.RuneError) { // invalid UTF-8 is decoded as it, too
			p.literals = append(p.literals, []byte(string(e.Rune)))
		}
	case syntax.OpCapture, syntax.OpPlus, syntax.OpConcat:
		for _, part := range e.Sub {
			p.require(part)
		}
	case syntax.OpRepeat:
		if e.Min > 0 {
			p.require(e.Sub[0])
		}
	}
}

func (p *pattern) match(text []byte) bool {
	rest := text
	for _, literal := range p.literals {
		i := bytes.Index(rest, literal)
		if i < 0 {
			return false
		}
		rest = rest[i+len(literal):]
	}
	return p.expression.Match(text)
}
