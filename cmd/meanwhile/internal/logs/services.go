package logs

import (
	"context"
	"encoding/json"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// Services is "meanwhile logs services".
type Services struct {
	JSON bool `group:"Output" name:"json" help:"Print each service as a line of JSON."`
	Place
}

// Help is the text above the flags.
func (*Services) Help() string {
	return `Lists the services that have stored records: how many, their size on disk, and the times of the oldest and newest.

Exit codes: 0 listed, 1 not listed, 2 usage error, 130 interrupted.`
}

// Run lists the services.
func (c *Services) Run(streams probe.Streams) error {
	return c.use(streams, func(ctx context.Context, f storage.Finder) error {
		services, err := f.Services(ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			encoder := json.NewEncoder(streams.Out)
			for i := range services {
				if err := encoder.Encode(&services[i]); err != nil {
					return fmt.Errorf("write the services: %w", err)
				}
			}
			return nil
		}
		if len(services) == 0 {
			fmt.Fprintln(streams.Err, "No records are stored.")
			return nil
		}
		t := tabwriter.NewWriter(streams.Out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "SERVICE\tRECORDS\tON DISK\tOLDEST\tNEWEST")
		damaged := int64(0)
		for _, s := range services {
			damaged += s.Damaged
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", safe(s.Service), probe.Number(int(s.Records)), size(s.Bytes), ago(s.Oldest), ago(s.Newest))
		}
		if err := t.Flush(); err != nil {
			return fmt.Errorf("write the services: %w", err)
		}
		if damaged > 0 {
			fmt.Fprintf(streams.Err, "%s could not be read and are left out.\n", size(damaged))
		}
		return nil
	})
}

// size formats a number of bytes in at most 6 characters.
func size(bytes int64) string {
	n := float64(bytes)
	for _, unit := range []string{"B", "KB", "MB", "GB"} {
		if n < 999.5 {
			return fmt.Sprintf("%.3g %s", n, unit)
		}
		n /= 1000
	}
	return fmt.Sprintf("%.3g TB", n)
}

// ago formats how long ago a time was.
func ago(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return probe.Span(time.Since(t)) + " ago"
}
