package mask

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// Restore puts the values of original in the places of text, which is JSON, where the value of a hidden field is still [Shown]: text is what JSON
// showed of original, with changes. Where nothing was restored, text is returned as it is. It is an error where original has no such field.
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
			inner, err := m.restore(value, beside)
			if err != nil {
				return false, err
			}
			restored = restored || inner
		}
	}
	return restored, nil
}
