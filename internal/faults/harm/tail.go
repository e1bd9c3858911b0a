//go:build unix

package harm

import (
	"bytes"
	"sync"
)

// A Tail keeps the end of what is written to it.
type Tail struct {
	mu   sync.Mutex
	text []byte
}

const tailSize = 64 << 10

// Write adds text.
func (t *Tail) Write(text []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, text...)
	if extra := len(t.text) - tailSize; extra > 0 {
		t.text = append(t.text[:0], t.text[extra:]...)
	}
	return len(text), nil
}

// String returns the end of it.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.text))
}
