package filter

import (
	"log/slog"
	"math"
	"slices"
	"strconv"

	"github.com/meanwhile-go/meanwhile/logs"
)

// An attrIs matches a record that has an attribute whose value is one of several, regardless of case.
type attrIs struct {
	anywhere
	key    string
	values []wantedValue
}

// A wantedValue is a value to compare with: a text as it was written, any other kind by its value, so that 90s equals 1m30s.
type wantedValue struct {
	wanted
	value []byte // as AppendText writes it, in lower case

	isInteger, isFloat bool // whether value is that of integer, and of float
	integer            int64
	float              float64
}

func newWantedValue(text string, prefix bool) wantedValue {
	small := fold(text)
	w := wantedValue{wanted: wanted{small, prefix}, value: canonical(text, small.text)}
	n, err := strconv.ParseInt(string(w.value), 10, 64)
	w.integer, w.isInteger = n, err == nil
	f, err := strconv.ParseFloat(string(w.value), 64)
	w.float, w.isFloat = f, err == nil && floatText(f) == string(w.value)
	return w
}

func (a *attrIs) match(v *logs.View) bool {
	for b := v.EncodedAttrs(); ; {
		value, rest, ok := logs.FindAttr(b, a.key)
		if !ok || a.is(&value) {
			return ok
		}
		b = rest
	}
}

func (a *attrIs) is(value *logs.AttrValue) bool {
	if w := &a.values[0]; len(a.values) == 1 && !w.prefix { // the usual case: numbers are compared without being formatted
		switch value.Kind() {
		case slog.KindInt64:
			return w.isInteger && value.Int64() == w.integer
		case slog.KindFloat64:
			if f, _ := value.Number(); !math.IsNaN(f) && !math.IsInf(f, 0) {
				return w.isFloat && math.Float64bits(f) == math.Float64bits(w.float)
			}
		}
	}
	var buf [64]byte
	text, isText := value.Text()
	if !isText {
		text = value.AppendText(buf[:0])
	}
	for i := range a.values {
		w := a.values[i].wanted
		if !isText && !w.prefix {
			w.folded = folded{text: a.values[i].value}
		}
		if w.is(text) {
			return true
		}
	}
	return false
}

func (a *attrIs) tokens(have []uint64) []uint64 {
	if len(a.values) != 1 || a.values[0].prefix || a.values[0].wide || !slices.Equal(a.values[0].text, a.values[0].value) {
		return have
	}
	return appendValueTokens(have, a.key, a.values[0].text)
}

func (a *attrIs) negate() expr { return notTerm{a} }

// An attrHas matches a record that has an attribute, whatever its value.
type attrHas struct {
	anywhere
	key string
}

func (a *attrHas) match(v *logs.View) bool {
	_, _, ok := logs.FindAttr(v.EncodedAttrs(), a.key)
	return ok
}

func (a *attrHas) negate() expr { return notTerm{a} }

// An attrLike matches a record that has an attribute whose value, as text, matches a regular expression.
type attrLike struct {
	anywhere
	key     string
	pattern *pattern
}

func (a *attrLike) match(v *logs.View) bool {
	for b := v.EncodedAttrs(); ; {
		value, rest, ok := logs.FindAttr(b, a.key)
		if !ok || a.is(&value) {
			return ok
		}
		b = rest
	}
}

func (a *attrLike) is(value *logs.AttrValue) bool {
	text, isText := value.Text()
	if !isText {
		var buf [64]byte
		text = value.AppendText(buf[:0])
	}
	return a.pattern.match(text)
}

func (a *attrLike) negate() expr { return notTerm{a} }
