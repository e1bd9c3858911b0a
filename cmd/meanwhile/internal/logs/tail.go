package logs

import (
	"context"
	"errors"
	"fmt"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// Tail is "meanwhile logs tail".
type Tail struct {
	Filter []string `arg:"" optional:"" help:"Filters, as above; a record has to match all of them. Without one, all records match."`
	Lines  int      `group:"Which records" short:"n" default:"10" placeholder:"N" help:"Print the newest N records first (default ${default})."`
	Follow bool     `group:"Which records" short:"f" help:"Follow new records until Ctrl-C. While the server is unreachable, wait for it; then continue with the record after the last."`
	Output
	Source
}

// Help is the text above the flags.
func (*Tail) Help() string {
	return `Prints the newest records that match a filter, and with -f follows new ones.

` + filterHelp + `

Exit codes: 0 printed; 1 failed; 2 usage error; 130 interrupted.`
}

// Run prints the newest records, and follows new ones.
func (c *Tail) Run(streams probe.Streams) error {
	q, err := query(c.Filter)
	if err != nil {
		return err
	}
	if c.Lines < 0 {
		return usage("--lines: give no negative number")
	}
	p, err := c.printer(streams)
	if err != nil {
		return err
	}
	place := Place{Source: c.Source}
	return place.use(streams, func(ctx context.Context, f storage.Finder) error {
		after, err := c.newest(ctx, f, q, p)
		if err != nil || !c.Follow {
			return err
		}
		q.After = after
		return c.follow(ctx, f, q, p, streams)
	})
}

// newest prints the newest records, and returns the position from which following neither misses nor repeats a record.
func (c *Tail) newest(ctx context.Context, f storage.Finder, q storage.Query, p *printer) (after map[string]uint64, err error) {
	services, err := f.Services(ctx)
	if err != nil {
		return nil, err
	}
	after = make(map[string]uint64)
	for _, s := range services {
		after[s.Service] = s.Last
	}
	if c.Lines == 0 {
		return after, nil
	}
	q.Limit = c.Lines
	_, err = p.all(func(yield func(logs.Record, error) bool) {
		for r, err := range f.Find(ctx, q) {
			if err == nil {
				after[r.Service] = max(after[r.Service], r.Number)
			}
			if !yield(r, err) {
				return
			}
		}
	})
	return after, err
}

// follow prints new records, and reports at once those that it misses.
func (c *Tail) follow(ctx context.Context, f storage.Finder, q storage.Query, p *printer, streams probe.Streams) error {
	for r, err := range f.Follow(ctx, q) {
		if missed, ok := errors.AsType[*storage.MissedError](err); ok {
			fmt.Fprintf(streams.Err, "meanwhile: %s\n", safe(missed.Error()))
			continue
		}
		if err != nil {
			return err
		}
		err := p.print(&r)
		if last := p.w.Flush(); last != nil {
			err = last
		}
		if err != nil {
			return err
		}
	}
	return nil
}
