package filter

import (
	"bytes"
	"log/slog"
	"strconv"
	"time"
	"unsafe"

	"github.com/meanwhile-go/meanwhile/logs"
)

// An attrCompare matches a record that has an attribute which is a number, or a duration in seconds, in a range; or a
// time in one. A text that is a number or a duration counts as one.
type attrCompare struct {
	anywhere
	key        string
	comparison string // one of > >= < <=
	number     float64
	isTime     bool
	time       moments
}

func (a *attrCompare) match(v *logs.View) bool {
	for b := v.EncodedAttrs(); ; {
		value, rest, ok := logs.FindAttr(b, a.key)
		if !ok || a.is(&value) {
			return ok
		}
		b = rest
	}
}

func (a *attrCompare) is(value *logs.AttrValue) bool {
	if a.isTime {
		lo, hi := a.time.compared(a.comparison)
		at := value.Int64()
		return value.Kind() == slog.KindTime && lo <= at && at <= hi
	}
	n, ok := value.Number()
	if !ok && value.Kind() == slog.KindString {
		text, _ := value.Text()
		n, ok = textNumber(text)
	}
	if !ok {
		return false
	}
	switch a.comparison {
	case ">":
		return n > a.number
	case ">=":
		return n >= a.number
	case "<":
		return n < a.number
	}
	return n <= a.number
}

func (a *attrCompare) negate() expr { return notTerm{a} }

// textNumber parses a decimal number, or a duration, which it returns in seconds. It allocates nothing for a text whose characters show
// that it is neither.
func textNumber(text []byte) (n float64, ok bool) {
	if len(text) == 0 || len(text) > 40 {
		return 0, false
	}
	s := unsafe.String(&text[0], len(text)) // not kept
	switch last := text[len(text)-1]; {
	case last == 's' || last == 'm' || last == 'h':
		if c := text[0]; c != '-' && c != '+' && c != '.' && !isDigit(c) || bytes.IndexByte(text, ' ') >= 0 {
			return 0, false
		}
		d, err := time.ParseDuration(s)
		return d.Seconds(), err == nil
	case !isDecimal(text):
		return 0, false
	}
	n, err := strconv.ParseFloat(s, 64)
	return n, err == nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isDecimal reports whether a text is a number with digits, perhaps a sign, a point and an exponent.
func isDecimal(text []byte) bool {
	digits := 0
	skipDigits := func() {
		for len(text) > 0 && isDigit(text[0]) {
			text = text[1:]
			digits++
		}
	}
	skipSign := func() {
		if len(text) > 0 && (text[0] == '+' || text[0] == '-') {
			text = text[1:]
		}
	}
	skipSign()
	skipDigits()
	if len(text) > 0 && text[0] == '.' {
		text = text[1:]
		skipDigits()
	}
	if digits > 0 && len(text) > 0 && lower[text[0]] == 'e' {
		text, digits = text[1:], 0
		skipSign()
		skipDigits()
	}
	return digits > 0 && len(text) == 0
}
