package segment

import "context"

// merge iterates over the records of cursors by their times, and over those of each cursor in its order. It calls yield with the cursor
// that is at the next record, until yield returns false.
func merge(ctx context.Context, cursors []*cursor, yield func(c *cursor) bool) error {
	defer func() {
		for _, c := range cursors {
			c.close()
		}
	}()
	var live []*cursor
	for _, c := range cursors {
		if _, err := c.nextBlock(); err != nil {
			return err
		}
		if c.entry != nil {
			live = append(live, c)
		}
	}
	before := func(a, b *cursor) bool { return a.key < b.key }
	for len(live) > 0 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		best, second := 0, -1
		for i := 1; i < len(live); i++ {
			switch {
			case before(live[i], live[best]):
				best, second = i, best
			case second < 0 || before(live[i], live[second]):
				second = i
			}
		}
		c := live[best]
		for n := 0; c.entry != nil && (second < 0 || !before(live[second], c)) && n < 1000; n++ {
			if !c.loaded {
				if err := c.load(); err != nil {
					return err
				}
			} else if !yield(c) {
				return nil
			}
			if err := c.forward(); err != nil {
				return err
			}
			if !c.loaded {
				break // check ctx, between blocks
			}
		}
		if c.entry == nil {
			live[best] = live[len(live)-1]
			live = live[:len(live)-1]
		}
	}
	return nil
}
