package filter

import (
	"errors"
	"log/slog"
	"math"
	"regexp/syntax"
	"strconv"
	"time"

	"github.com/meanwhile-go/meanwhile/logs"
)

// A key is what a term compares with its values.
type key struct {
	name  string
	field field
	begin int // its position in the text of the filter
}

// compare parses the values of a term, and returns the term.
func (p *parser) compare(k key, op string) (expr, error) {
	var e expr
	var err error
	switch op {
	case "~", "!~":
		e, err = p.like(k)
	case "=", "!=":
		e, err = p.equals(k, op)
	default:
		e, err = p.order(k, op)
	}
	if err == nil && op[0] == '!' {
		e = e.negate()
	}
	return e, err
}

func (p *parser) like(k key) (expr, error) {
	v, err := p.regexp()
	if err != nil {
		return nil, err
	}
	if len(v.text) > maxRegexp {
		return nil, p.errorf(v.begin, "the regular expression is longer than %d bytes: divide it with or", maxRegexp)
	}
	pattern, err := newPattern(v.text)
	if wrong, ok := errors.AsType[*syntax.Error](err); ok {
		return nil, p.errorf(v.begin, "no regular expression: %s: %q; quote it as a whole, and write \\ before a character that is meant itself", wrong.Code, wrong.Expr)
	} else if err != nil {
		return nil, p.errorf(v.begin, "no regular expression: %q", err)
	}
	switch k.field {
	case fieldAttr:
		return &attrLike{key: k.name, pattern: pattern}, nil
	case fieldTime, fieldLevel, fieldNumber:
		return nil, p.errorf(k.begin, "%s is not a text: compare it with = != > >= < or <=", k.name)
	}
	return &fieldLike{field: k.field, pattern: pattern}, nil
}

func (p *parser) equals(k key, op string) (expr, error) {
	values, err := p.values(op)
	if err != nil {
		return nil, err
	}
	exists := false
	for _, v := range values {
		exists = exists || v.prefix && v.text == ""
	}
	switch k.field {
	case fieldAttr:
		if exists {
			return &attrHas{key: k.name}, nil
		}
		e := &attrIs{key: k.name}
		for _, v := range values {
			e.values = append(e.values, newWantedValue(v.text, v.prefix))
		}
		return e, nil
	case fieldTime, fieldLevel, fieldNumber:
		if exists {
			return &between{field: k.field, lo: math.MinInt64, hi: math.MaxInt64}, nil
		}
		return p.oneOf(k, values)
	}
	if exists { // any text that is not empty
		return (&fieldIs{field: k.field, texts: []wanted{{}}}).negate(), nil
	}
	e := &fieldIs{field: k.field}
	for _, v := range values {
		e.texts = append(e.texts, wanted{fold(v.text), v.prefix})
	}
	return e, nil
}

func (p *parser) oneOf(k key, values []value) (expr, error) {
	var some anyOf
	for _, v := range values {
		m, err := p.moments(k, v)
		if err != nil {
			return nil, err
		}
		some = append(some, &between{field: k.field, lo: m.lo, hi: m.hi})
	}
	if len(some) == 1 {
		return some[0], nil
	}
	return some, nil
}

// moments parses the value that a time, a level or a number is compared with.
func (p *parser) moments(k key, v value) (m moments, err error) {
	ok := false
	remedy := "2026-05-04, 2026-05-04T15:04 or 2026-05-04T15:04:05Z"
	switch k.field {
	case fieldTime:
		m, ok = parseTimes(v.text)
	case fieldLevel:
		m, ok = parseLevels(v.text)
		remedy = "trace, debug, info, notice, warn, error, critical, alert or fatal, such a name with +1 to +3, or a number"
	case fieldNumber:
		var n int64
		n, err := strconv.ParseInt(v.text, 10, 64)
		m, ok = moments{n, n}, err == nil
		remedy = "the number of a record"
	}
	if !ok || v.prefix {
		return m, p.errorf(v.begin, "%q is not a %s: give %s", v.text, k.name, remedy)
	}
	return m, nil
}

func (p *parser) order(k key, op string) (expr, error) {
	values, err := p.values(op)
	if err != nil {
		return nil, err
	}
	v := values[0]
	if len(values) > 1 {
		return nil, p.errorf(v.begin, "%s compares with one value: use or for more", op)
	}
	switch k.field {
	case fieldAttr:
		e := &attrCompare{key: k.name, comparison: op}
		var ok bool
		if e.time, e.isTime = parseTimes(v.text); !e.isTime {
			e.number, ok = textNumber([]byte(v.text))
		}
		if !ok && !e.isTime || v.prefix {
			return nil, p.errorf(v.begin, "%s compares numbers: give one, a duration such as 1.5s, or a time; quote the whole term to search for it", op)
		}
		return e, nil
	case fieldTime, fieldLevel, fieldNumber:
		m, err := p.moments(k, v)
		if err != nil {
			return nil, err
		}
		lo, hi := m.compared(op)
		return &between{field: k.field, lo: lo, hi: hi}, nil
	}
	return nil, p.errorf(k.begin, "%s is a text, which %s does not compare: use = != ~ or !~", k.name, op)
}

// canonical returns the number, duration or time that a text stands for as [logs.AttrValue.AppendText] writes it, in lower case. For any
// other text it returns lowered.
func canonical(text string, lowered []byte) []byte {
	if isDecimal([]byte(text)) {
		n, err := strconv.ParseInt(text, 10, 64)
		if err == nil {
			return strconv.AppendInt(nil, n, 10)
		}
		if u, err := strconv.ParseUint(text, 10, 64); err == nil {
			return strconv.AppendUint(nil, u, 10)
		}
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return []byte(floatText(f))
		}
	}
	if d, err := time.ParseDuration(text); err == nil && !isDecimal([]byte(text)) {
		return []byte(d.String())
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return fold(t.UTC().Format(time.RFC3339Nano)).text
	}
	return lowered
}

// floatText returns a number as [logs.AttrValue.AppendText] writes it.
func floatText(f float64) string {
	value, _, _ := logs.FindAttr(logs.AppendAttr(nil, "", slog.Float64("f", f)), "f")
	return string(value.AppendText(nil))
}
