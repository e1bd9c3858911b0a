package jobs

import (
	"context"
	"log/slog"
	"os"
	"os/user"
	"time"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/internal/mask"
	"github.com/meanwhile-go/meanwhile/job"
)

// Audit is "meanwhile jobs audit".
type Audit struct {
	Limit  int   `default:"50" placeholder:"N" help:"At most N entries, the newest (default ${default})."`
	Before int64 `placeholder:"N" help:"Only entries with a lower number than N."`
}

// Help is the text above the flags.
func (*Audit) Help() string {
	return "Shows who did what, and when, with the dashboard, the API and this command. A store keeps the newest 10,000 entries of 90 days."
}

// Run shows the audit log.
func (a *Audit) Run(c *Command, streams probe.Streams) error {
	if a.Limit < 1 || a.Before < 0 {
		return usage("--limit and --before: give a positive number")
	}
	return c.use(false, func(ctx context.Context, s job.Store) error {
		entries, err := s.Audited(ctx, a.Before, a.Limit)
		if err != nil {
			return err
		}
		var rows []row
		for _, e := range entries {
			if c.JSON {
				if err := writeJSON(streams.Out, e); err != nil {
					return err
				}
				continue
			}
			action := e.Action
			if e.Error != "" {
				action += " (failed)"
			}
			rows = append(rows, row{cells: []string{
				probe.Number(int(e.N)), e.Time.Local().Format(time.DateTime), e.Actor, e.Via, action, probe.Number(int(e.Changed)), e.Target,
			}})
		}
		return c.table(streams, rows, "The audit log is empty.", column{title: "N", right: true}, column{title: "TIME", least: 19}, column{title: "WHO", least: 8},
			column{title: "BY"}, column{title: "ACTION", least: 10}, column{title: "CHANGED", right: true}, column{title: "ON", least: 12})
	})
}

// record writes an action of a command to the store's audit log. Errors are printed by the command.
func record(ctx context.Context, s job.Store, streams probe.Streams, done job.AuditEntry, err error) {
	if err != nil {
		done.Error = err.Error()
	}
	secrets := mask.New(mask.Default)
	done.Actor, done.Via = actor(), "command"
	done.Target, done.Error = secrets.Text(done.Target), secrets.Text(done.Error)
	job.Audit(ctx, s, slog.New(slog.NewTextHandler(streams.Err, &slog.HandlerOptions{Level: slog.LevelError})), done)
}

// actor returns the user of this process, as user@host.
func actor() string {
	name := os.Getenv("USER")
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name
}
