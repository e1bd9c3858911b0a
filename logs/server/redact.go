package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/meanwhile-go/meanwhile/internal/mask"
	"github.com/meanwhile-go/meanwhile/logs"
)

// A Redaction replaces data that must not be kept, in every record, before it is stored, written or forwarded. Records that are in the
// store already stay as they are.
type Redaction struct {
	Name string // the name of its counter in [Stats]; default: "rule" and its place in the list, from 1 on

	// Attrs are the names of attributes whose values are replaced as a whole, regardless of case. A name matches a key, and the part of
	// a key after a dot: "password" matches "user.password". A name with a * at its end is a prefix of keys. Fields of a value that is JSON
	// have the keys that they would have as attributes, so "password" also matches the field of the value {"password": 1} of "user".
	Attrs []string

	// Pattern matches what is replaced in messages, in paths of tasks, and in values of attributes, including numbers, which become text
	// then. It must not match the empty string. Nil matches nothing.
	Pattern *regexp.Regexp

	With string // the replacement, at most 64 bytes; default "[redacted]"
}

const (
	defaultMarker = "[redacted]"
	maxMarker     = 64
)

// Check returns an error if the redaction is invalid.
func (r *Redaction) Check() error {
	switch {
	case len(r.Attrs) == 0 && r.Pattern == nil:
		return errors.New("it has neither names of attributes nor a pattern")
	case r.Pattern != nil && r.Pattern.MatchString(""):
		return fmt.Errorf("the pattern %.100q matches the empty text, which is everywhere", r.Pattern)
	case len(r.With) > maxMarker:
		return fmt.Errorf("what is written instead has %d bytes, at most %d are", len(r.With), maxMarker)
	}
	for _, name := range r.Attrs {
		if name == "" || name == "*" || strings.Contains(strings.TrimSuffix(name, "*"), "*") {
			return fmt.Errorf("%.100q is not a valid name of attributes: a * stands behind the beginning of one", name)
		}
	}
	return nil
}

// A redactor applies redactions. Its methods may be called concurrently.
type redactor []*redaction

type redaction struct {
	names   []string // in lower case
	begins  []string
	pattern *regexp.Regexp
	marker  []byte
	count   *atomic.Int64 // values that were changed
}

// newRedactor returns nil when there is nothing to redact.
func (s *Server) newRedactor(rules []Redaction) (all redactor, err error) {
	for i := range rules {
		rule := &rules[i]
		name := rule.Name
		if name == "" {
			name = fmt.Sprintf("rule %d", i+1)
		}
		if err := rule.Check(); err != nil {
			return nil, fmt.Errorf("redaction %.100q: %w", name, err)
		}
		r := &redaction{pattern: rule.Pattern, marker: []byte(rule.With), count: s.redactionCount(name)}
		if rule.With == "" {
			r.marker = []byte(defaultMarker)
		}
		for _, name := range rule.Attrs {
			if prefix, ok := strings.CutSuffix(name, "*"); ok {
				r.begins = append(r.begins, strings.ToLower(prefix))
			} else {
				r.names = append(r.names, strings.ToLower(name))
			}
		}
		all = append(all, r)
	}
	return all, nil
}

// redactionCount returns the counter with a name, which continues when settings are reloaded.
func (s *Server) redactionCount(name string) *atomic.Int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.redacted[name]
	if c == nil {
		c = new(atomic.Int64)
		s.redacted[name] = c
	}
	return c
}

// redact applies the rules to a record. It does not change the bytes of the view's texts, but sets others.
func (all redactor) redact(v *logs.View) {
	v.Message, _ = all.text(v.Message)
	v.Task, _ = all.text(v.Task)
	var out []byte
	done := 0
	for b := v.EncodedAttrs(); len(b) > 0; {
		key, value, rest, ok := logs.NextAttr(b)
		if !ok {
			break // damaged attributes, which a store refuses
		}
		size := len(b) - len(rest)
		text, changed := all.value(key, value)
		if changed && out == nil {
			out = append(make([]byte, 0, len(v.EncodedAttrs())+2*maxMarker), v.EncodedAttrs()[:done]...)
		}
		switch {
		case changed:
			out = logs.AppendAttr(out, "", slog.Attr{Key: string(key), Value: text})
		case out != nil:
			out = append(out, b[:size]...)
		}
		done += size
		b = rest
	}
	if out != nil {
		v.SetEncodedAttrs(out)
	}
}

// value returns the value of an attribute after redaction.
func (all redactor) value(key []byte, value logs.AttrValue) (_ slog.Value, changed bool) {
	named := all.hasNames()
	if named {
		if r := all.named(string(key)); r != nil {
			r.count.Add(1)
			return slog.StringValue(string(r.marker)), true
		}
	}
	text, ok := value.Text()
	if !ok {
		var buffer [32]byte
		text = value.AppendText(buffer[:0])
	}
	if value.Kind() == slog.KindAny && named {
		text, changed = all.fields(key, text)
	}
	text, matched := all.text(text)
	if !changed && !matched {
		return slog.Value{}, false
	}
	if value.Kind() == slog.KindAny && json.Valid(text) {
		return slog.AnyValue(json.RawMessage(text)), true
	}
	return slog.StringValue(string(text)), true
}

// fields returns the JSON of an attribute after redaction of the fields that rules name. Text that is not valid JSON is replaced as a whole,
// since its fields are unknown.
func (all redactor) fields(key, text []byte) (_ []byte, changed bool) {
	prefix := string(key)
	replaced, err := mask.Replace(text, func(path []string) (string, bool) {
		r := all.named(prefix + "." + strings.Join(path, "."))
		if r == nil {
			return "", false
		}
		changed = true
		r.count.Add(1)
		return string(r.marker), true
	})
	switch {
	case err != nil:
		return []byte(defaultMarker), true
	case changed:
		return replaced, true
	}
	return text, false
}

func (all redactor) hasNames() bool {
	return slices.ContainsFunc(all, func(r *redaction) bool { return r.names != nil || r.begins != nil })
}

// named returns the rule that replaces the value of a key, nil for none.
func (all redactor) named(key string) *redaction {
	key = strings.ToLower(key)
	for _, r := range all {
		if r.fits(key) {
			return r
		}
	}
	return nil
}

// text returns a text after replacing what the patterns match.
func (all redactor) text(text []byte) (_ []byte, changed bool) {
	for _, r := range all {
		if r.pattern != nil && len(text) > 0 && r.pattern.Match(text) {
			text, changed = r.pattern.ReplaceAllLiteral(text, r.marker), true
			r.count.Add(1)
		}
	}
	return text, changed
}

// fits reports whether the rule replaces the value of a key, which is in lower case.
func (r *redaction) fits(key string) bool {
	for _, name := range r.names {
		if rest, ok := strings.CutSuffix(key, name); ok && (rest == "" || strings.HasSuffix(rest, ".")) {
			return true
		}
	}
	for _, prefix := range r.begins {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}
