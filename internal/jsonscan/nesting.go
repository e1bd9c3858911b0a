package jsonscan

// A Nesting counts brackets outside of strings. In a text that arrives in parts, before it is known to be JSON, it finds the end of an object or an
// array and its nesting depth. The zero Nesting is at the start of a text.
type Nesting struct {
	depth, deepest int
	text, escaped  bool
}

// End continues reading, and returns how many bytes it has read: all, or those up to the bracket that closes the first one.
func (n *Nesting) End(text []byte) (size int, ended bool) {
	for i, c := range text {
		switch {
		case n.escaped:
			n.escaped = false
		case n.text:
			n.text, n.escaped = c != '"', c == '\\'
		case c == '"':
			n.text = true
		case c == '{', c == '[':
			n.depth++
			n.deepest = max(n.deepest, n.depth)
		case c == '}', c == ']':
			if n.depth--; n.depth <= 0 {
				return i + 1, true
			}
		}
	}
	return len(text), false
}

// Deepest returns the maximum nesting depth of objects and arrays so far.
func (n *Nesting) Deepest() int { return n.deepest }
