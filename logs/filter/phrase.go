package filter

import (
	"bytes"

	"github.com/meanwhile-go/meanwhile/logs"
)

// A phrase matches a message that has its words, one after the other, with only characters that are not part of words in between.
type phrase struct {
	anywhere
	words  []folded // as [AppendTokens] defines them
	prefix bool     // the last one may be the beginning of a word

	at         int  // where in the first word its rarest byte is
	rare, same byte // that byte, and its capital letter or itself
}

// newPhrase returns a phrase of the words in a text, or nil if there are none.
func newPhrase(text string, prefix bool) *phrase {
	p := &phrase{prefix: prefix}
	for rest := text; len(rest) > 0; {
		n := wordLen(rest)
		if n > 0 {
			p.words = append(p.words, fold(rest[:n]))
		}
		rest = rest[min(n+1, len(rest)):]
	}
	if len(p.words) == 0 {
		return nil
	}
	first := p.words[0].text
	p.at = rarest(first)
	p.rare = first[p.at]
	p.same = p.rare
	if 'a' <= p.rare && p.rare <= 'z' {
		p.same -= 'a' - 'A'
	}
	return p
}

func wordLen(text string) int {
	for i := range len(text) {
		if word[text[i]] == 0 {
			return i
		}
	}
	return len(text)
}

// rarest returns the index of the byte of a word that is rarest in messages, so that a search for it seldom stops in vain.
func rarest(w []byte) (at int) {
	const often = "etaoinsrhld012cumfpg3456789wy_bvkxjqz"
	least := -1
	for i, c := range w {
		rank := bytes.IndexByte([]byte(often), c)
		if rank < 0 {
			rank = len(often)
		}
		if rank > least {
			at, least = i, rank
		}
	}
	return at
}

func (p *phrase) match(v *logs.View) bool { return p.matchText(v.Message) }

func (p *phrase) matchText(text []byte) bool {
	if p.words[0].wide {
		return p.findWide(text)
	}
	return p.find(text, p.rare) || p.same != p.rare && p.find(text, p.same)
}

// findWide checks each word of a text, since the bytes of the phrase's first word depend on its case.
func (p *phrase) findWide(text []byte) bool {
	for i, c := range text {
		if word[c] != 0 && (i == 0 || word[text[i-1]] == 0) && p.begins(text[i:]) {
			return true
		}
	}
	return false
}

func (p *phrase) find(text []byte, rare byte) bool {
	for from := 0; ; {
		i := bytes.IndexByte(text[from:], rare)
		if i < 0 {
			return false
		}
		if begin := from + i - p.at; begin >= 0 && (begin == 0 || word[text[begin-1]] == 0) && p.begins(text[begin:]) {
			return true
		}
		from += i + 1
	}
}

// begins reports whether a text, which starts where a word starts, begins with the words of the phrase.
func (p *phrase) begins(text []byte) bool {
	for i := range p.words {
		if i > 0 {
			for len(text) > 0 && word[text[0]] == 0 {
				text = text[1:]
			}
		}
		rest, ok := p.words[i].cut(text)
		if !ok {
			return false
		}
		if text = rest; len(text) > 0 && word[text[0]] != 0 && !(p.prefix && i == len(p.words)-1) {
			return false
		}
	}
	return true
}

func (p *phrase) tokens(have []uint64) []uint64 {
	whole := p.words
	if p.prefix {
		whole = whole[:len(whole)-1]
	}
	for _, w := range whole {
		if !w.wide { // the index does not fold the case of letters other than ASCII
			have = appendWords(have, w.text)
		}
	}
	return have
}

func (p *phrase) negate() expr { return notTerm{p} }
