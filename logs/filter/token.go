package filter

import (
	"math/bits"

	"github.com/meanwhile-go/meanwhile/internal/murmur"
	"github.com/meanwhile-go/meanwhile/logs"
)

// AppendTokens appends the tokens of a record, some more than once: a hash for each word of its message and of its
// attributes' texts, and one for its task, each task above that, its job and each attribute as a whole. A text that is one word has
// only the token of that word. An index of blocks holds tokens; a search skips the blocks that do not have all tokens of its filter.
//
// A word is a run of ASCII letters, digits and underscores, and of all bytes of other characters. ASCII letters count as lower
// case.
func AppendTokens(tokens []uint64, v *logs.View) []uint64 {
	tokens = appendWords(tokens, v.Message)
	tokens = appendTasks(tokens, v.Task)
	tokens = AppendJobToken(tokens, v.Job)
	for attrs := v.EncodedAttrs(); len(attrs) > 0; { // without an iterator, for speed: every stored record passes through here
		key, value, rest, ok := logs.NextAttr(attrs)
		if !ok {
			break
		}
		attrs = rest
		tokens = AppendAttrTokens(tokens, key, &value)
	}
	return tokens
}

// AppendMessageTokens appends the tokens of a message alone.
func AppendMessageTokens(tokens []uint64, message []byte) []uint64 {
	return appendWords(tokens, message)
}

// AppendTaskTokens appends the tokens of a task alone.
func AppendTaskTokens(tokens []uint64, path []byte) []uint64 { return appendTasks(tokens, path) }

// AppendJobToken appends the token of a job alone.
func AppendJobToken(tokens []uint64, job []byte) []uint64 {
	if len(job) == 0 {
		return tokens
	}
	return append(tokens, murmur.Mix(addText(jobSeed, job)))
}

// AppendAttrTokens appends the tokens of an attribute alone.
func AppendAttrTokens(tokens []uint64, key []byte, value *logs.AttrValue) []uint64 {
	var buf [64]byte
	text, ok := value.Text()
	if !ok {
		text = value.AppendText(buf[:0])
	} else if tokens = appendWords(tokens, text); isPlainWord(text) {
		return tokens
	}
	return append(tokens, AttrToken(key, text))
}

// appendValueTokens appends the tokens that each attribute with this key has if its value is written as text, which is in lower case.
func appendValueTokens(tokens []uint64, key string, text []byte) []uint64 {
	if isPlainWord(text) {
		return appendWords(tokens, text)
	}
	return append(tokens, AttrToken([]byte(key), text))
}

// isPlainWord reports whether a text is one word that only a text can be written as: digits alone may be a number, and with letters of
// units a duration.
func isPlainWord(text []byte) bool {
	plain := false
	for _, c := range text {
		if word[c] == 0 {
			return false
		}
		plain = plain || unit[c] == 0
	}
	if n := len(text); n >= 3 && n <= 5 {
		for _, other := range []string{"nan", "true", "false"} {
			plain = plain && !(n == len(other) && sameLetters(text, []byte(other)))
		}
	}
	return plain
}

// unit marks the characters of words that durations may have.
var unit = func() (unit [256]byte) {
	for _, c := range []byte("0123456789hmsnuµHMSNU") {
		unit[c] = 1
	}
	return unit
}()

// AttrToken returns the token of an attribute whose value, as text, equals text apart from the case of ASCII letters.
func AttrToken(key, text []byte) uint64 { return murmur.Mix(addText(keySeed(key), text)) }

func keySeed(key []byte) uint64 {
	h := uint64(tokenSeed) ^ 1
	for _, c := range key {
		h = addByte(h, c)
	}
	return h * tokenPrime
}

var taskSeed, jobSeed = keySeed([]byte("task")), keySeed([]byte("job"))

func addText(h uint64, text []byte) uint64 {
	for _, c := range text {
		h = addByte(h, lower[c])
	}
	return h
}

// appendTasks appends the tokens of a path and of those of the tasks above.
func appendTasks(tokens []uint64, path []byte) []uint64 {
	h := taskSeed
	for i, c := range path {
		if c == '/' && i > 0 {
			tokens = append(tokens, murmur.Mix(h))
		}
		h = addByte(h, lower[c])
	}
	if len(path) > 0 {
		tokens = append(tokens, murmur.Mix(h))
	}
	return tokens
}

func appendWords(tokens []uint64, text []byte) []uint64 {
	h := uint64(tokenSeed)
	for _, c := range text {
		if w := word[c]; w != 0 {
			h = addByte(h, w)
			continue
		}
		if h != tokenSeed {
			tokens = append(tokens, murmur.Mix(h))
			h = tokenSeed
		}
	}
	if h != tokenSeed {
		tokens = append(tokens, murmur.Mix(h))
	}
	return tokens
}

const (
	tokenSeed  = 14695981039346656037
	tokenPrime = 1099511628211
)

// addByte adds a byte to a hash. It is made for speed, since every byte of every record passes through it: words are short, so most of
// their bytes have separate bits, and a last step mixes them.
func addByte(h uint64, c byte) uint64 { return bits.RotateLeft64(h, 9) + uint64(c) }

// lower maps upper-case ASCII letters to lower case. word does so too, and maps bytes that are not part of words to zero.
var lower, word = func() (lower, word [256]byte) {
	for i := range lower {
		c := byte(i)
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		lower[i] = c
		if 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '_' || c >= 0x80 {
			word[i] = c
		}
	}
	return lower, word
}()
