package load

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// A Tally has the counts of the messages of a load that arrived.
type Tally struct {
	Arrived    int // different messages
	Lost       int
	Doubled    int // repeated copies of messages
	Disordered int // messages behind a later one of their connection
	Strange    int // lines that are not messages of the load, or are damaged
}

// Complete reports whether every message arrived once and in order.
func (t Tally) Complete() bool { return t.Lost+t.Doubled+t.Disordered+t.Strange == 0 }

// String returns the counts in one line.
func (t Tally) String() string {
	return fmt.Sprintf("%d arrived, %d lost, %d doubled, %d out of order, %d strange lines", t.Arrived, t.Lost, t.Doubled, t.Disordered, t.Strange)
}

// Count reads the files that a server has written, oldest first. Each message is on its own line, possibly with other text.
func (l Load) Count(files ...string) (t Tally, err error) {
	c := l.newCounter()
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			return t, err
		}
		err = c.read(file)
		if err := errors.Join(err, file.Close()); err != nil {
			return t, fmt.Errorf("count messages in %s: %w", name, err)
		}
	}
	return c.done(), nil
}

type counter struct {
	load  Load
	tally Tally
	seen  [][]bool
	last  []int
}

func (l Load) newCounter() *counter {
	c := &counter{load: l, seen: make([][]bool, l.Connections), last: make([]int, l.Connections)}
	for conn := range c.seen {
		c.seen[conn], c.last[conn] = make([]bool, l.each(conn)), -1
	}
	return c
}

func (c *counter) done() Tally {
	c.tally.Lost = c.load.Messages - c.tally.Arrived
	return c.tally
}

func (c *counter) read(in io.Reader) error {
	lines := bufio.NewReaderSize(in, 1<<20)
	for {
		line, err := lines.ReadSlice('\n')
		if len(line) > 0 {
			c.line(line)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

func (c *counter) line(line []byte) {
	at := bytes.Index(line, []byte(mark))
	if at < 0 || len(line) <= at+MessageSize || line[len(line)-1] != '\n' || line[at+markSize-1] != '#' ||
		string(line[at+markSize:at+MessageSize]) != filler[:MessageSize-markSize] {
		c.tally.Strange++
		return
	}
	conn, n := parse(line[at+2:at+5]), parse(line[at+7:at+15])
	if conn < 0 || n < 0 || conn >= c.load.Connections || n >= len(c.seen[conn]) {
		c.tally.Strange++
		return
	}
	if c.seen[conn][n] {
		c.tally.Doubled++
		return
	}
	c.seen[conn][n] = true
	c.tally.Arrived++
	if n < c.last[conn] {
		c.tally.Disordered++
	}
	c.last[conn] = max(c.last[conn], n)
}

// parse parses a number. It returns -1 if a character is not a digit.
func parse(digits []byte) (n int) {
	for _, d := range digits {
		if d < '0' || d > '9' {
			return -1
		}
		n = 10*n + int(d-'0')
	}
	return n
}
