package storage

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/cut"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/filter"
)

// Counts has the numbers of records by the values of their keys; see [CountBy].
type Counts struct {
	By      []string      `json:"by"`             // the keys
	Every   time.Duration `json:"every,omitzero"` // the length of an interval, in nanoseconds
	Since   time.Time     `json:"since,omitzero"` // the start of the first interval
	Records int64         `json:"records"`        // the number of records that match
	Groups  []Group       `json:"groups"`         // the largest first
	Others  int64         `json:"others"`         // the number of records in further groups
}

// A Group counts the records that have the same values.
type Group struct {
	Values []string `json:"values"` // of the keys; "" for a key that the records do not have
	Count  int64    `json:"count"`
	Parts  []int64  `json:"parts,omitempty"` // counts by interval, from Counts.Since on
}

// Bounds of counts.
const (
	mostGroups   = 10_000   // groups that are counted separately
	mostCounted  = 32 << 20 // bytes of these groups in memory
	mostReturned = 1_000    // groups that are returned
	mostAnswer   = 4 << 20  // bytes of these groups as JSON, which is one line of a response
	mostParts    = 1_000    // intervals
	mostValue    = 200      // bytes of a value; a longer one is truncated
)

// ErrCounts is the error of [CountBy] for counts that it does not support.
var ErrCounts = errors.New("these counts cannot be made")

// CountBy counts the records that match a query by the values of keys. These are the keys of filters: service, level, message, task, job, and
// the keys of attributes. If every is not zero, it also counts by intervals of that length, at most a thousand. It returns the thousand
// largest groups, as far as they fit into 4 MiB of JSON. It tracks ten thousand groups, as far as they fit into 32 MiB, which with every is
// about 4,000; the records of groups that appear later count as others. A value of more than 200 bytes is truncated, and ends with "…". Limit
// and Newest of the query are ignored. CountBy reads all records that match.
func CountBy(ctx context.Context, f Finder, q Query, by []string, every time.Duration) (*Counts, error) {
	if err := CheckCounts(by, every); err != nil {
		return nil, err
	}
	q.Limit, q.Newest = 0, false
	c := counter{counts: &Counts{By: by, Every: every}, groups: map[string]*Group{}}
	for r, err := range f.Find(ctx, q) {
		if err != nil {
			return nil, err
		}
		v := r.View()
		if err := c.add(&v); err != nil {
			return nil, err
		}
	}
	return c.finish(), nil
}

// CheckCounts returns an error that wraps [ErrCounts] if [CountBy] does not support the keys or the interval.
func CheckCounts(by []string, every time.Duration) error {
	if every < 0 || len(by) > 10 {
		return fmt.Errorf("%w: count by up to ten keys, in parts of a positive time", ErrCounts)
	}
	for _, key := range by {
		switch key {
		case "time", "number":
			return fmt.Errorf("%w: each %s is another one: count by service, level, message, task, job or the key of an attribute", ErrCounts, key)
		}
		if key == "" {
			return fmt.Errorf("%w: a key is missing", ErrCounts)
		}
	}
	return nil
}

// A counter counts records. They arrive sorted by time, except in the case that [Finder] describes: records that are earlier than the first
// one are counted in the first interval.
type counter struct {
	counts *Counts
	groups map[string]*Group
	size   int    // of groups, in bytes
	key    []byte // of the group of a record: its values, each after a byte with its length
	parts  int    // the number of intervals up to the newest record
}

func (c *counter) add(v *logs.View) error {
	c.counts.Records++
	part, err := c.partOf(v)
	if err != nil {
		return err
	}
	g := c.group(v)
	if g == nil {
		c.counts.Others++
		return nil
	}
	g.Count++
	if c.counts.Every > 0 {
		for len(g.Parts) <= part {
			g.Parts = append(g.Parts, 0)
		}
		g.Parts[part]++
	}
	return nil
}

// partOf returns the index of the interval of a record.
func (c *counter) partOf(v *logs.View) (int, error) {
	every := c.counts.Every
	if every == 0 {
		return 0, nil
	}
	at := time.Unix(0, v.Time).UTC()
	if c.counts.Since.IsZero() {
		c.counts.Since = at.Truncate(every)
	}
	part := at.Sub(c.counts.Since) / every
	if part >= mostParts {
		return 0, fmt.Errorf("%w: the records reach over more than %d times %v: give a longer time, or a shorter one to search", ErrCounts, mostParts, every)
	}
	n := int(max(part, 0))
	c.parts = max(c.parts, n+1)
	return n, nil
}

// group returns the group of a record, or nil if that would be one too many.
func (c *counter) group(v *logs.View) *Group {
	c.key = c.key[:0]
	for _, key := range c.counts.By {
		c.appendValue(v, key)
	}
	if g := c.groups[string(c.key)]; g != nil {
		return g
	}
	const own = 200 // bytes of a group, about
	size := own + len(c.key) + 16*len(c.counts.By)
	if c.counts.Every > 0 {
		size += 8 * mostParts
	}
	if len(c.groups) >= mostGroups || c.size+size > mostCounted {
		return nil
	}
	c.size += size
	key := string(c.key)
	g := &Group{Values: []string{}}
	for rest := key; rest != ""; {
		end := 1 + int(rest[0])
		g.Values = append(g.Values, rest[1:end])
		rest = rest[end:]
	}
	c.groups[key] = g
	return g
}

// appendValue appends the value that a record has for a key to c.key.
func (c *counter) appendValue(v *logs.View, key string) {
	at := len(c.key)
	c.key = filter.AppendValue(append(c.key, 0), v, key)
	if value := c.key[at+1:]; len(value) > mostValue {
		c.key = append(c.key[:at+1+len(cut.Prefix(value, mostValue))], "…"...)
	}
	c.key[at] = byte(len(c.key) - at - 1)
}

// finish sorts the groups, and counts those that do not fit as others.
func (c *counter) finish() *Counts {
	all := slices.SortedFunc(maps.Values(c.groups), func(a, b *Group) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), slices.Compare(a.Values, b.Values))
	})
	c.counts.Groups = []Group{}
	full := false
	size := 0
	for i, g := range all {
		if full = full || i >= mostReturned; !full {
			if c.counts.Every > 0 {
				g.Parts = append(g.Parts, make([]int64, c.parts-len(g.Parts))...)
			}
			text, _ := json.Marshal(g) // never fails: a group has only numbers and texts
			size += len(text)
			full = size > mostAnswer
		}
		if full {
			c.counts.Others += g.Count
			continue
		}
		c.counts.Groups = append(c.counts.Groups, *g)
	}
	return c.counts
}
