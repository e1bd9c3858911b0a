package filter

import (
	"fmt"
	"log/slog"
	"math"

	"github.com/meanwhile-go/meanwhile/logs"
)

// A Filter selects records. It is made by [Parse] and may be used by several goroutines at once. The zero Filter matches all
// records.
type Filter struct {
	text string
	expr expr // nil matches all
}

// MaxText is the longest text of a filter, in bytes.
const MaxText = 8 << 10

// An Error reports what is wrong with the text of a filter, and what to write instead.
type Error struct {
	Column  int // where, in characters, from 1
	Problem string
}

// Error returns where the problem is and what it is.
func (e *Error) Error() string {
	return fmt.Sprintf("filter, column %d: %s", e.Column, e.Problem)
}

// String returns the text that was parsed.
func (f Filter) String() string { return f.text }

// Match reports whether a record matches. It allocates nothing.
func (f Filter) Match(v *logs.View) bool { return f.expr == nil || f.expr.match(v) }

// Service reports whether records of a service can match.
func (f Filter) Service(name string) bool { return f.expr == nil || f.expr.service(name) }

// Tokens returns tokens that every matching record has; see [AppendTokens].
func (f Filter) Tokens() []uint64 {
	if f.expr == nil {
		return nil
	}
	return f.expr.tokens(nil)
}

// Levels returns the lowest and the highest level that a matching record can have. The lowest is above the highest if no level
// can match.
func (f Filter) Levels() (least, most slog.Level) {
	lo, hi := f.bounds(fieldLevel)
	level := func(n int64) slog.Level { return slog.Level(min(max(n, math.MinInt32), math.MaxInt32)) }
	return level(lo), level(hi)
}

// Times returns the earliest and the latest time that a matching record can have, in nanoseconds since 1970. The earliest is
// above the latest if no time can match.
func (f Filter) Times() (earliest, latest int64) { return f.bounds(fieldTime) }

func (f Filter) bounds(of field) (lo, hi int64) {
	if f.expr == nil {
		return math.MinInt64, math.MaxInt64
	}
	return f.expr.bounds(of)
}
