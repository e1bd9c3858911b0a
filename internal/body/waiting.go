package body

const (
	mostWaiting = 256 << 10
	eachRecord  = 64 // bytes of a record besides its texts and attributes, about as many as a batcher adds: time, level, lengths, service
)

// Waiting counts the bytes of the records that were decoded from a body and are not flushed yet. They can be many times as large as the body:
// each may have the attributes of a list that it is in, and a record without texts takes two bytes of a body.
type Waiting struct{ size int }

// Add counts a record, whose texts and attributes have so many bytes, and reports whether it is time for a flush. Then it begins anew.
func (w *Waiting) Add(size int) bool {
	if w.size += eachRecord + size; w.size < mostWaiting {
		return false
	}
	w.size = 0
	return true
}
