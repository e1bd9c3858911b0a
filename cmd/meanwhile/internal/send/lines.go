package send

import (
	"bytes"
	"fmt"
	"log/slog"
	"regexp"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/jsonlines"
)

// How long a record waits for further lines.
const (
	together     = 500 * time.Millisecond // after each line
	mostTogether = 5 * time.Second        // after the first one
)

// A lines converts the text that is written to it to records.
type lines struct {
	take   func(v *logs.View)
	level  slog.Level
	begin  *regexp.Regexp // a line that matches starts a record; nil: every line that does not start with white space does
	single bool           // each line is a record
	text   bool           // JSON is treated as any other text
	most   int            // bytes of a record
	stream string         // value of the attribute stream, empty for none
	file   string         // value of the attribute file, empty for none

	mu      sync.Mutex
	line    []byte    // the current line, without its end
	beyond  int       // bytes of the line beyond the limit
	record  []byte    // lines of the current record; nil for none
	missing int       // bytes of the record beyond the limit
	since   time.Time // when the record began
	last    time.Time // when its last line ended
	taken   int       // number of records so far
	decoder jsonlines.Decoder
	view    logs.View
}

// Write adds a part of the stream. It never fails, since the writer has more to do than to log.
func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for rest := b; len(rest) > 0; {
		i := bytes.IndexByte(rest, '\n')
		part := rest
		if i >= 0 {
			part, rest = rest[:i], rest[i+1:]
		} else {
			rest = nil
		}
		space := min(len(part), l.most-len(l.line))
		l.line = append(l.line, part[:space]...)
		l.beyond += len(part) - space
		if i < 0 {
			break
		}
		l.end()
	}
	return len(b), nil
}

// end processes the line, which is complete.
func (l *lines) end() {
	line, beyond := bytes.TrimRight(l.line, "\r"), l.beyond
	l.line, l.beyond = l.line[:0], 0
	switch {
	case len(line) == 0 && (l.begin == nil || l.record == nil):
		return
	case !l.text && beyond == 0 && bytes.HasPrefix(line, []byte{'{'}) && l.decoder.Decode(line, &l.view) == nil:
		l.object()
		return
	case l.record != nil && l.continues(line):
		l.extend(line, beyond)
		return
	}
	l.flush()
	l.record = append(make([]byte, 0, len(line)), line...)
	l.missing, l.since = beyond, time.Now()
	l.last = l.since
	if l.single {
		l.flush()
	}
}

// continues reports whether a line belongs to the previous one.
func (l *lines) continues(line []byte) bool {
	if l.begin != nil {
		return !l.begin.Match(line)
	}
	return !l.single && (line[0] == ' ' || line[0] == '\t')
}

func (l *lines) extend(line []byte, beyond int) {
	l.last = time.Now()
	space := l.most - len(l.record) - 1
	if space < 0 || l.missing > 0 {
		l.missing += 1 + len(line) + beyond
		return
	}
	taken := min(space, len(line))
	l.record = append(append(l.record, '\n'), line[:taken]...)
	l.missing += len(line) - taken + beyond
}

// object sends the record of a JSON line, which the decoder has decoded.
func (l *lines) object() {
	view := l.view // flush uses l.view for the previous record
	l.view = logs.View{}
	l.flush()
	if view.Time == 0 {
		view.Time = time.Now().UnixNano()
	}
	if !l.decoder.HasLevel() {
		view.Level = l.level
	}
	l.view = view
	l.send()
}

// flush sends the current record.
func (l *lines) flush() {
	if l.record == nil {
		return
	}
	l.view.Reset()
	l.view.Time, l.view.Level, l.view.Message = l.since.UnixNano(), l.level, l.record
	if l.missing > 0 {
		l.view.Message = fmt.Appendf(l.record, " [cut: %d bytes more]", l.missing)
	}
	l.record = nil
	l.send()
}

func (l *lines) send() {
	if l.stream != "" {
		l.view.AddText([]byte("stream"), []byte(l.stream))
	}
	if l.file != "" {
		l.view.AddText([]byte("file"), []byte(l.file))
	}
	l.taken++
	l.take(&l.view)
}

// progress returns whether a record waits for further lines, and how many records were sent.
func (l *lines) progress() (waits bool, taken int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.record != nil, l.taken
}

// idle sends a record that no line has followed for a while, or that began long ago.
func (l *lines) idle(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.record != nil && (now.Sub(l.last) >= together || now.Sub(l.since) >= mostTogether) {
		l.flush()
	}
}

// close sends the rest.
func (l *lines) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.line) > 0 {
		l.end()
	}
	l.flush()
}
