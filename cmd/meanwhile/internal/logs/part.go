package logs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/alecthomas/kong"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/settings"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/logs/server"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// A Part is a log server inside another program. It does not support replacing the program.
type Part struct {
	plan  *plan
	store storage.Store
}

// NewPart reads settings as "meanwhile logs serve" does, from a file, the environment and the defaults. If folder is set, records
// are stored there, whatever the settings say.
func NewPart(folder, file string, logger *slog.Logger, streams probe.Streams) (*Part, error) {
	c := Serve{configFlag: "--logs-config"}
	parser, err := kong.New(&c, kong.Name("meanwhile logs serve"))
	if err != nil {
		return nil, err
	}
	var args []string
	if folder != "" {
		args = append(args, "--dir="+folder)
	}
	if file != "" {
		args = append(args, "--config="+file)
	}
	ctx, err := parser.Parse(args)
	if err != nil {
		return nil, fmt.Errorf("the log server: %w", settings.Plainly(err))
	}
	if c.PIDFile != "" {
		return nil, errors.New("the log server: --pid-file: it runs inside this process; leave it out")
	}
	if c.AllowPrivate || c.WebhookKeyFile != "" {
		return nil, errors.New("the log server: --allow-private and --webhook-key-file: webhooks of alerts are jobs here; give them to meanwhile serve")
	}
	p, err := c.plan(logger, streams)
	if err != nil {
		return nil, fmt.Errorf("the log server: %w", settings.WithVariables(ctx, err))
	}
	return &Part{plan: p}, nil
}

// Open opens the store, whose tasks are in the scope of ctx. It returns nil if no route leads to the store. Webhook calls are enqueued in jobs.
func (s *Part) Open(ctx context.Context, jobs job.Store) (storage.Finder, error) {
	s.plan.webhooks.jobs = jobs
	var err error
	if s.store, err = s.plan.open(ctx); err != nil || s.store == nil {
		return nil, err
	}
	return s.store, nil
}

// Run receives records until ctx is canceled.
func (s *Part) Run(ctx context.Context) error {
	_, err := s.plan.run(ctx, s.store, server.Config{})
	return err
}

// Close closes the store. Nothing may use it any more.
func (s *Part) Close() error { return closeStore(s.store) }

// Reread does the same as a HUP signal.
func (s *Part) Reread() {
	if server := s.plan.running.Load(); server != nil {
		s.plan.again(server)
	}
}

// String describes the configuration, one setting per line.
func (s *Part) String() string { return s.plan.String() }
