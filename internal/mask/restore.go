package mask

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
)

// Restore puts hidden values back into text: JSON that was made of original with [JSON], and then edited. Each field that is still [Shown] gets its
// value from original. If there is none, text is returned as it is. It is an error if original has no such field; if the field is in an element of an
// array in which anything but hidden fields has changed, since it is unknown which element it was; and if text has a URL with a server that original
// does not have: a value could be sent there that the author of the text must not see.
func (m *Mask) Restore(text, original json.RawMessage) (json.RawMessage, error) {
	if !bytes.Contains(text, []byte(Shown)) {
		return text, nil
	}
	given, err := decode(text)
	if err != nil {
		return nil, err
	}
	before, err := decode(original)
	if err != nil {
		return nil, err
	}
	restored, err := m.restore(given, before)
	if err != nil || !restored {
		return text, err
	}
	known := servers(before)
	for server := range servers(given) {
		if !known[server] {
			return nil, fmt.Errorf("%s was not there before, and may not get the values that are %s: write them", server, Shown)
		}
	}
	var out bytes.Buffer
	scalar(&out, given)
	return out.Bytes(), nil
}

func decode(text []byte) (value any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		return nil, fmt.Errorf("this is not JSON: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("this is more than one JSON value")
	}
	return value, nil
}

// restore changes given, and reports whether it did.
func (m *Mask) restore(given, before any) (restored bool, err error) {
	switch v := given.(type) {
	case map[string]any:
		old, _ := before.(map[string]any)
		for name, value := range v {
			if m.Hides(name) && value == Shown {
				hidden, ok := old[name]
				if !ok {
					return false, fmt.Errorf("the value of %q is %s, and there was none before: write one", name, Shown)
				}
				v[name], restored = hidden, true
				continue
			}
			inner, err := m.restore(value, old[name])
			if err != nil {
				return false, err
			}
			restored = restored || inner
		}
	case []any:
		old, _ := before.([]any)
		for i, value := range v {
			var beside any
			if i < len(old) {
				beside = old[i]
			}
			name, kept := m.shown(value)
			if kept && (len(v) != len(old) || !reflect.DeepEqual(m.without(value), m.without(beside))) {
				return false, fmt.Errorf("write the value of %q where it is %s in an array: the array or this element of it is not as it was before", name, Shown)
			}
			inner, err := m.restore(value, beside)
			if err != nil {
				return false, err
			}
			restored = restored || inner
		}
	}
	return restored, nil
}

// shown returns the name of a field in a value that is still [Shown], or "".
func (m *Mask) shown(value any) (name string, found bool) {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			if m.Hides(name) && inner == Shown {
				return name, true
			}
			if name, found := m.shown(inner); found {
				return name, true
			}
		}
	case []any:
		for _, inner := range v {
			if name, found := m.shown(inner); found {
				return name, true
			}
		}
	}
	return "", false
}

// without returns a copy of a value without its hidden fields.
func (m *Mask) without(value any) any {
	switch v := value.(type) {
	case map[string]any:
		rest := make(map[string]any, len(v))
		for name, inner := range v {
			if !m.Hides(name) {
				rest[name] = m.without(inner)
			}
		}
		return rest
	case []any:
		rest := make([]any, len(v))
		for i, inner := range v {
			rest[i] = m.without(inner)
		}
		return rest
	}
	return value
}
