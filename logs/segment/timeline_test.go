package segment

import (
	"container/heap"
	"testing"

	"github.com/meanwhile-go/meanwhile/logs"
)

// A record that cannot be read ends a search with an error, not as if it were complete.
func TestTimelineEmitsDamage(t *testing.T) {
	line := &timeline{}
	heap.Push(&line.read, &piece{cursor: &cursor{}, raw: []byte{1}, found: []foundRecord{{}}})
	more, err := line.emit(func(point) bool { return true }, func(point, *logs.View) bool { return true })
	if more || err == nil {
		t.Errorf("got %v, %v", more, err)
	}
}
