package logs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/when"
	"github.com/meanwhile-go/meanwhile/logs/filter"
	"github.com/meanwhile-go/meanwhile/logs/remote"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// Find is "meanwhile logs find".
type Find struct {
	Filter []string  `arg:"" optional:"" help:"Filters, as above; a record has to match all of them. Without one, all records match."`
	Since  when.Past `group:"Which records" placeholder:"TIME" help:"Not before this time: an age such as 2h or 3d, a time such as \"2026-01-31 15:04\" or 2026-01-31T15:04:05Z, or yesterday 14:00."`
	Until  when.Past `group:"Which records" placeholder:"TIME" help:"Before this time."`
	Limit  int       `group:"Which records" default:"1000" placeholder:"N" help:"Print up to N records, the newest ones; 0 is all of them (default ${default})."`
	Newest bool      `group:"Which records" help:"Print the newest record first."`

	CountBy []string      `group:"Output" placeholder:"KEY" help:"Instead of records, print the number of records for each combination of values of these keys, such as level,service; --limit applies to groups."`
	Every   time.Duration `group:"Output" placeholder:"TIME" help:"With --count-by: draw the counts over time, one for each interval of this length, such as 5m."`

	Output
	Place
}

// Help is the text above the flags.
func (*Find) Help() string {
	return `Prints the records that match a filter, the oldest first.

` + filterHelp + `

Exit codes: 0 searched, even if nothing matches; 1 the search failed; 2 usage error; 130 interrupted.`
}

const filterHelp = `A filter is words and conditions:

    level>=warn service=api "timed out"

    word, wo*, "some words"        in the message
    key=value, key=a,b, key=val*   an attribute; key!=value; key=* for any value
    key>=2.5, key<1m30s            numbers and durations; > and <= too
    key~regexp, key!~regexp        RE2, anywhere in the value
    or, not, -, ( )                -level=debug, not (api or web)

Keys are time, level, service, message, task (with what is below it), job, number, and those of attributes, such as
job.kind. Quote the whole filter for the shell. See docs/logs-search.md.`

// Run searches the records.
func (c *Find) Run(streams probe.Streams) error {
	q, err := query(c.Filter)
	if err != nil {
		return err
	}
	q.Since, q.Until, q.Newest = c.Since.Time, c.Until.Time, c.Newest
	switch {
	case c.Every < 0 || c.Every > 0 && len(c.CountBy) == 0:
		return usage("--every: give a positive time, and --count-by")
	case len(c.CountBy) > 0 && (c.Template != "" || c.Newest):
		return usage("--count-by prints no records: leave out --template and --newest")
	case c.Limit < 0:
		return usage("--limit: give no negative number")
	case !q.Since.IsZero() && !q.Until.IsZero() && !q.Since.Before(q.Until):
		return usage("--since and --until: there is no time between %s and %s", q.Since.Format(timeLayout), q.Until.Format(timeLayout))
	}
	q.Limit = c.Limit
	p, err := c.printer(streams)
	if err != nil {
		return err
	}
	return c.use(streams, func(ctx context.Context, f storage.Finder) error {
		if len(c.CountBy) > 0 {
			return c.count(ctx, f, q, streams)
		}
		n, err := c.find(ctx, f, q, p)
		switch {
		case err != nil:
			return err
		case n == 0:
			fmt.Fprintln(streams.Err, "No records match.")
		case n == c.Limit:
			fmt.Fprintf(streams.Err, "At most %s are printed, the newest; --limit 0 prints all.\n", probe.Number(n))
		}
		return nil
	})
}

// find prints the records. If the output is JSON, the JSON lines of a server are printed unchanged.
func (c *Find) find(ctx context.Context, f storage.Finder, q storage.Query, p *printer) (n int, err error) {
	if server, ok := f.(*remote.Client); ok && c.JSON {
		return p.lines(server.FindJSON(ctx, q))
	}
	return p.all(f.Find(ctx, q))
}

const timeLayout = "2006-01-02 15:04:05"

// query parses the filters, which are combined with AND.
func query(filters []string) (q storage.Query, err error) {
	text := strings.Join(filters, " ")
	if q.Filter, err = filter.Parse(text); err == nil {
		return q, nil
	}
	wrong, ok := errors.AsType[*filter.Error](err)
	if ok && len(text) <= 200 && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r >= 0x7f }) {
		err = fmt.Errorf("%w\n  %s\n  %s^", err, text, strings.Repeat(" ", wrong.Column-1))
	}
	return q, &probe.UsageError{Err: err}
}
