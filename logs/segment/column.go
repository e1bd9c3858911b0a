package segment

import "log/slog"

// The parts of records that columns have.
const (
	roleTime = iota
	roleLevel
	roleMessage
	roleTask
	roleJob
	roleShape
	roleAttr
)

// A column gathers the values of one part of the records.
type column struct {
	role  byte
	key   []byte
	kind  slog.Kind // of an attribute
	count int

	numbers []int64 // of all kinds that are not texts
	text    []byte  // texts, one after the other: all, or the distinct ones
	ends    []uint32
	ids     []uint8
	few     bool // text and ends are of distinct ones
	known   map[string]uint8
	last    uint8 // id of the text that came last
}

func (c *column) isText() bool {
	return c.role == roleMessage || c.role == roleTask || c.role == roleJob || c.role == roleAttr && (c.kind == slog.KindString || c.kind == slog.KindAny)
}

func (c *column) reset(role byte, key []byte, kind slog.Kind) {
	clear(c.known)
	*c = column{
		role: role, key: append(c.key[:0], key...), kind: kind, numbers: c.numbers[:0], text: c.text[:0], ends: c.ends[:0], ids: c.ids[:0],
		few: true, known: c.known,
	}
	if c.known == nil {
		c.known = make(map[string]uint8)
	}
}

// textAt returns the i-th of the texts.
func (c *column) textAt(i int) []byte {
	from := uint32(0)
	if i > 0 {
		from = c.ends[i-1]
	}
	return c.text[from:c.ends[i]]
}

func (c *column) addText(text []byte) {
	c.count++
	if c.few {
		if n := len(c.ids); n > 0 && string(c.textAt(int(c.last))) == string(text) {
			c.ids = append(c.ids, c.last)
			return
		}
		id, ok := c.known[string(text)]
		if !ok && len(c.ends) < maxDict {
			id = uint8(len(c.ends))
			c.known[string(text)] = id
			c.text = append(c.text, text...)
			c.ends = append(c.ends, uint32(len(c.text)))
			ok = true
		}
		if ok {
			c.ids = append(c.ids, id)
			c.last = id
			return
		}
		c.spread()
	}
	c.text = append(c.text, text...)
	c.ends = append(c.ends, uint32(len(c.text)))
}

// spread stores each text by itself, because there are too many distinct ones.
func (c *column) spread() {
	c.few = false
	distinct, ends := append([]byte(nil), c.text...), append([]uint32(nil), c.ends...)
	c.text, c.ends = c.text[:0], c.ends[:0]
	for _, id := range c.ids {
		from := uint32(0)
		if id > 0 {
			from = ends[id-1]
		}
		c.text = append(c.text, distinct[from:ends[id]]...)
		c.ends = append(c.ends, uint32(len(c.text)))
	}
	c.ids = c.ids[:0]
}
