package logs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Counts say how many records have which values, see [CountBy].
type Counts struct {
	By      []string      `json:"by"`             // the keys
	Every   time.Duration `json:"every,omitzero"` // the length of a part of the time, in nanoseconds
	Since   time.Time     `json:"since,omitzero"` // when the first part begins
	Records int64         `json:"records"`        // that match
	Groups  []Group       `json:"groups"`         // the largest first
	Others  int64         `json:"others"`         // records of further groups
}

// A Group is the records that have the same values.
type Group struct {
	Values []string `json:"values"` // of the keys; "" where a record has none
	Count  int64    `json:"count"`
	Parts  []int64  `json:"parts,omitempty"` // of the time from Counts.Since on
}

// What bounds counts: groups that are counted apart, that are returned, and parts of the time.
const (
	mostGroups = 10_000
	mostTold   = 1_000
	mostParts  = 1_000
)

// ErrCounts is what [CountBy] fails with when it is asked for what it does not do.
var ErrCounts = errors.New("these counts cannot be made")

// CountBy counts the records that match by the values of keys, which are those of filters: service, level, message, task, job, and
// those of attributes. With every, which may be 0, it counts each such part of the time as well, of at most a thousand. It returns the
// thousand largest groups, and counts apart ten thousand: records of groups that come after these are others. The limit of the query
// has no meaning here. It reads all records that match.
func CountBy(ctx context.Context, f Finder, q Query, by []string, every time.Duration) (*Counts, error) {
	if err := checkCounts(by, every); err != nil {
		return nil, err
	}
	q.Limit, q.Newest = 0, false
	c := counter{counts: &Counts{By: by, Every: every}, groups: map[string]*counted{}}
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

func checkCounts(by []string, every time.Duration) error {
	if every < 0 || len(by) > 10 {
		return fmt.Errorf("%w: count by up to ten keys, in parts of a positive time", ErrCounts)
	}
	for _, key := range by {
		switch fields[key] {
		case fieldTime, fieldNumber:
			return fmt.Errorf("%w: each %s is another one: count by service, level, message, task, job or the key of an attribute", ErrCounts, key)
		}
		if key == "" {
			return fmt.Errorf("%w: a key is missing", ErrCounts)
		}
	}
	return nil
}

// A counter counts records. They come by their times.
type counter struct {
	counts *Counts
	groups map[string]*counted
	room   []byte
	ends   []int
	part   int // of the newest record
}

type counted struct {
	Group
	name string
}

func (c *counter) add(v *View) error {
	c.counts.Records++
	if every := c.counts.Every; every > 0 {
		at := time.Unix(0, v.Time).UTC()
		if c.counts.Since.IsZero() {
			c.counts.Since = at.Truncate(every)
		}
		if c.part = int(at.Sub(c.counts.Since) / every); c.part >= mostParts {
			return fmt.Errorf("%w: the records reach over more than %d times %v: give a longer time, or a shorter one to search", ErrCounts, mostParts, every)
		}
	}
	g := c.group(v)
	if g == nil {
		c.counts.Others++
		return nil
	}
	g.Count++
	if c.counts.Every > 0 {
		for len(g.Parts) <= c.part {
			g.Parts = append(g.Parts, 0)
		}
		g.Parts[c.part]++
	}
	return nil
}

// group returns the group of a record, nil for one too many.
func (c *counter) group(v *View) *counted {
	c.room, c.ends = c.room[:0], c.ends[:0]
	for _, key := range c.counts.By {
		c.room = append(appendKey(c.room, v, key), 0)
		c.ends = append(c.ends, len(c.room))
	}
	if g := c.groups[string(c.room)]; g != nil || len(c.groups) >= mostGroups {
		return g
	}
	g := &counted{name: string(c.room), Group: Group{Values: []string{}}}
	from := 0
	for _, end := range c.ends {
		g.Values = append(g.Values, g.name[from:end-1])
		from = end
	}
	c.groups[g.name] = g
	return g
}

// appendKey appends the value that a record has for the key of a filter.
func appendKey(b []byte, v *View, key string) []byte {
	field, known := fields[key]
	switch {
	case !known:
		if value, _, ok := findAttr(v.attrs, key); ok {
			return value.AppendText(b)
		}
		return b
	case field == fieldLevel:
		return append(b, v.Level.String()...)
	}
	return append(b, field.text(v)...)
}

// finish puts the groups in order.
func (c *counter) finish() *Counts {
	all := make([]*counted, 0, len(c.groups))
	for _, g := range c.groups {
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b *counted) int { return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.name, b.name)) })
	c.counts.Groups = []Group{}
	for i, g := range all {
		if i >= mostTold {
			c.counts.Others += g.Count
			continue
		}
		if c.counts.Every > 0 {
			g.Parts = append(g.Parts, make([]int64, c.part+1-len(g.Parts))...)
		}
		c.counts.Groups = append(c.counts.Groups, g.Group)
	}
	return c.counts
}
