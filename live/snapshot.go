package live

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/meanwhile-go/meanwhile/inspect"
	"github.com/meanwhile-go/meanwhile/internal/trees"
)

// A Snapshot is the state of the program at one moment. In JSON, durations are nanoseconds.
type Snapshot struct {
	Program    string         `json:"program"` // base name of the executable
	PID        int            `json:"pid"`
	Time       time.Time      `json:"time"`  // when the snapshot started
	Took       time.Duration  `json:"took"`  // how long the snapshot took
	Tasks      int            `json:"tasks"` // in all trees, including those that were left out
	Goroutines int            `json:"goroutines"`
	Threads    int            `json:"threads"`
	CanCancel  bool           `json:"can_cancel"` // requests with the token can cancel tasks
	Trees      []inspect.Node `json:"trees"`      // the oldest first
}

// A Detail is one task of a Snapshot.
type Detail struct {
	Task  inspect.Node    `json:"task"`  // without the tasks below; More counts them
	Stack []inspect.Frame `json:"stack"` // the innermost first; null when it is unknown
}

func newDetail(n inspect.Node) Detail {
	n.More += trees.Count(n.Tasks)
	n.Tasks = nil
	return Detail{Task: n, Stack: n.Stack()}
}

func (d Detail) writeJSON(w io.Writer) error { return json.NewEncoder(w).Encode(d) }

// writeJSON writes one task at a time. The whole text, which may be hundreds of megabytes, is never in memory.
func (s *Snapshot) writeJSON(w io.Writer) error {
	b := bufio.NewWriterSize(w, 32<<10)
	head := *s
	head.Trees = []inspect.Node{}
	if err := writeOpen(b, head, "]}"); err != nil {
		return err
	}
	if err := writeNodes(b, s.Trees); err != nil {
		return err
	}
	_, _ = b.WriteString("]}\n") // the Writer keeps an error until Flush
	return b.Flush()
}

func writeNodes(b *bufio.Writer, nodes []inspect.Node) error {
	for i, n := range nodes {
		if i > 0 {
			_ = b.WriteByte(',')
		}
		below := n.Tasks
		n.Tasks = nil
		if err := writeOpen(b, n, "}"); err != nil {
			return err
		}
		if len(below) > 0 {
			_, _ = b.WriteString(`,"tasks":[`)
			if err := writeNodes(b, below); err != nil {
				return err
			}
			_ = b.WriteByte(']')
		}
		if err := b.WriteByte('}'); err != nil {
			return err
		}
	}
	return nil
}

// writeOpen writes v without its closing part end, so that more can follow.
func writeOpen(b *bufio.Writer, v any, end string) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write the tasks as JSON: %w", err)
	}
	_, err = b.Write(text[:len(text)-len(end)])
	return err
}

// writeText writes a line about the program, and then the trees.
func (s *Snapshot) writeText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s (pid %d): %s, %s, %s\n", s.Program, s.PID,
		counted(s.Tasks, "task"), counted(s.Goroutines, "goroutine"), counted(s.Threads, "thread"))
	if err != nil {
		return err
	}
	for _, tree := range (inspect.Node{Tasks: s.Trees}).Grouped().Tasks {
		if _, err := io.WriteString(w, tree.String()); err != nil {
			return err
		}
	}
	if more := s.Tasks - trees.Count(s.Trees); more > 0 { // in trees that were left out entirely
		_, err = fmt.Fprintf(w, "… and %d more\n", more)
	}
	return err
}

func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return grouped(n) + " " + noun
}

// grouped returns a count with commas between groups of thousands.
func grouped(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
