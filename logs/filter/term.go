package filter

import (
	"strings"
)

// The operators, the longer ones first.
var operators = []string{"!=", "!~", ">=", "<=", "=", "~", ">", "<"}

// operator returns the operator that a text begins with.
func operator(text string) string {
	for _, op := range operators {
		if strings.HasPrefix(text, op) {
			return op
		}
	}
	return ""
}

// term reads a word, a phrase, or a key with its operator and values.
func (p *parser) term() (expr, error) {
	begin := p.pos
	quoted := p.peek() == '"'
	var text string
	if quoted {
		var err error
		if text, err = p.quoted(); err != nil {
			return nil, err
		}
	} else {
		for !p.end() && !isBlank(p.peek()) && strings.IndexByte(`()"`, p.peek()) < 0 && operator(p.text[p.pos:]) == "" {
			p.pos++
		}
		text = p.text[begin:p.pos]
	}
	op := operator(p.text[p.pos:])
	if op == "" {
		return p.words(begin, text, quoted)
	}
	if text == "" && !quoted {
		return nil, p.errorf(begin, "a key is missing before %s: write key%svalue without blanks, or quote it to search for it", op, op)
	}
	k := key{name: text, begin: begin}
	if !quoted { // a key in quotes is that of an attribute
		k.field = fields[text]
	}
	p.pos += len(op)
	return p.compare(k, op)
}

func (p *parser) words(begin int, text string, quoted bool) (expr, error) {
	prefix := false
	if !quoted {
		text, prefix = strings.CutSuffix(text, "*")
		if star := strings.IndexByte(text, '*'); star >= 0 {
			return nil, p.errorf(begin+star, "* stands at the end of a word alone: use message~ and a regular expression for more")
		}
	}
	ph := newPhrase(text, prefix)
	switch {
	case ph == nil && prefix && text == "":
		return nil, p.errorf(begin, "* alone is not the beginning of a word: leave it out to find all")
	case ph == nil:
		return nil, p.errorf(begin, "%q has no word: words are of letters, digits and _; message~ finds other characters", text)
	case prefix && word[text[len(text)-1]] == 0:
		return nil, p.errorf(begin, "%q ends in no word that * could continue: leave it out", text)
	case len(ph.words) > maxWords:
		return nil, p.errorf(begin, "a phrase has more than %d words: fewer of them find it as well", maxWords)
	}
	return ph, nil
}

// quoted reads a text in quotes, in which \" is a quote and \\ a backslash.
func (p *parser) quoted() (string, error) {
	begin := p.pos
	var b strings.Builder
	for p.pos++; !p.end(); p.pos++ {
		c := p.text[p.pos]
		if c == '"' {
			p.pos++
			return b.String(), nil
		}
		if rest := p.text[p.pos:]; strings.HasPrefix(rest, `\"`) || strings.HasPrefix(rest, `\\`) {
			p.pos++
			c = rest[1]
		}
		b.WriteByte(c)
	}
	return "", p.errorf(begin, `there is no second quote for this one: write \" for a quote in a quoted text`)
}

// A value is one of those after an operator.
type value struct {
	text   string
	begin  int
	prefix bool
}

// values reads values with commas between them.
func (p *parser) values(op string) ([]value, error) {
	var all []value
	for {
		v := value{begin: p.pos}
		switch c := p.peek(); {
		case c == '"':
			var err error
			if v.text, err = p.quoted(); err != nil {
				return nil, err
			}
		case isBlank(c) || c == ')' || c == ',':
			return nil, p.errorf(p.pos, `a value is missing after %s: write no blanks around it, and "" for the empty value`, op)
		case operator(p.text[p.pos:]) != "":
			return nil, p.errorf(p.pos, "%s%s is not an operator: there are = != > >= < <= ~ and !~; quote a value that begins so", op, operator(p.text[p.pos:]))
		default:
			for !p.end() && !isBlank(p.peek()) && strings.IndexByte(`(),"`, p.peek()) < 0 {
				p.pos++
			}
			v.text, v.prefix = strings.CutSuffix(p.text[v.begin:p.pos], "*")
			if star := strings.IndexByte(v.text, '*'); star >= 0 {
				return nil, p.errorf(v.begin+star, "* stands at the end of a value alone: use ~ and a regular expression, or quote it")
			}
		}
		all = append(all, v)
		if len(all) > maxTerms {
			return nil, p.errorf(v.begin, "there are more than %d values: a regular expression may say it in one", maxTerms)
		}
		if p.peek() != ',' {
			break
		}
		p.pos++
	}
	return all, p.endOfValue()
}

func (p *parser) endOfValue() error {
	if c := p.peek(); !isBlank(c) && c != ')' {
		return p.errorf(p.pos, "a value goes no further than here: quote it as a whole")
	}
	return nil
}

// regexp reads a regular expression: a quoted one, or all up to a blank or to a parenthesis that it does not open.
func (p *parser) regexp() (value, error) {
	v := value{begin: p.pos}
	if p.peek() == '"' {
		text, err := p.quoted()
		if err == nil {
			err = p.endOfValue()
		}
		v.text = text
		return v, err
	}
	for open := 0; !p.end() && !isBlank(p.peek()); p.pos++ {
		switch p.peek() {
		case '\\':
			if p.pos+1 < len(p.text) && !isBlank(p.text[p.pos+1]) {
				p.pos++
			}
		case '(':
			open++
		case ')':
			open--
		}
		if open < 0 {
			break
		}
	}
	v.text = p.text[v.begin:p.pos]
	if v.text == "" {
		return v, p.errorf(v.begin, "a regular expression is missing: write no blanks around ~")
	}
	return v, nil
}
