package jsonscan

// A Nesting counts brackets outside of strings: in a text that arrives in parts, before it is known to be JSON, it finds where an object or an array
// ends, and how deeply it is nested. The zero Nesting is at the beginning of a text.
type Nesting struct {
	depth, deepest int
	text, escaped  bool
}

// End reads further, and returns how many bytes it has read: all, or those up to the bracket that closes the first one.
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

// Deepest returns in how many objects and arrays the most deeply nested byte was.
func (n *Nesting) Deepest() int { return n.deepest }
