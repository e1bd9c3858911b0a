package work

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/httprequest"
)

// A Pool has the flags of a worker of the built-in kinds, filled in by kong.
type Pool struct {
	Queue        []Queue `env:"MEANWHILE_QUEUE" placeholder:"NAME[:N[:WEIGHT]]" help:"Run jobs of this queue, up to N of them at once. Without weights, queues have priority in the given order; with weights, a queue of weight 3 is served three times as often as one of weight 1. Repeatable (default \"default\")."`
	Concurrency  int     `short:"n" env:"MEANWHILE_CONCURRENCY" default:"100" placeholder:"N" help:"Run up to N jobs at once (default ${default})."`
	AllowPrivate bool    `env:"MEANWHILE_ALLOW_PRIVATE" help:"Allow requests to private addresses, such as those of this machine and its network, and through the proxy of the environment."`

	WebhookKeyFile string `env:"MEANWHILE_WEBHOOK_KEY_FILE" placeholder:"FILE" help:"Sign the calls of webhooks, and requests with \"sign\":true, with the key in this file: whsec_ and base64, or any text of at least 24 bytes. The variable MEANWHILE_WEBHOOK_KEY has the key itself."`

	key []byte
}

const mostConcurrency = 100_000

// Check sets the default queue, and validates the flags. The concurrency must be at least least.
func (p *Pool) Check(least int) error {
	if p.Concurrency < least || p.Concurrency > mostConcurrency {
		return fmt.Errorf("--concurrency: give a number from %d to %d", least, mostConcurrency)
	}
	for i, q := range p.Queue {
		if slices.ContainsFunc(p.Queue[:i], func(other Queue) bool { return other.Name == q.Name }) {
			return fmt.Errorf("--queue: %s is named twice", probe.Printable(q.Name))
		}
	}
	if len(p.Queue) == 0 {
		p.Queue = []Queue{{Name: job.DefaultQueue}}
	}
	var err error
	p.key, err = SigningKey(p.WebhookKeyFile)
	return err
}

const mostKeyFile = 64 << 10 // bytes

// SigningKey reads the key for signing requests, from the file of --webhook-key-file, or else from the environment. It returns
// nil if there is none.
func SigningKey(file string) ([]byte, error) {
	text, from := os.Getenv("MEANWHILE_WEBHOOK_KEY"), "MEANWHILE_WEBHOOK_KEY"
	if file != "" {
		from = "--webhook-key-file"
		f, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", from, err)
		}
		defer func() { _ = f.Close() }()
		content, err := io.ReadAll(io.LimitReader(f, mostKeyFile))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", from, err)
		}
		text = string(content)
	} else if text == "" {
		return nil, nil
	}
	key, err := httprequest.ParseSigningKey(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	return key, nil
}

// Worker returns the worker.
func (p *Pool) Worker(s job.Store, config job.Config) *job.Worker {
	config.Concurrency = p.Concurrency
	for _, q := range p.Queue {
		config.Queues = append(config.Queues, job.QueueConfig(q))
	}
	return job.NewWorker(s, config, httprequest.Handler(httprequest.Config{AllowPrivate: p.AllowPrivate, SigningKey: p.key}))
}

// Queues returns the names of the queues.
func (p *Pool) Queues() string {
	names := make([]string, len(p.Queue))
	for i, q := range p.Queue {
		names[i] = probe.Printable(q.Name)
	}
	if len(names) == 1 {
		return "queue " + names[0]
	}
	return "queues " + strings.Join(names, ", ")
}

func (p *Pool) has(name string) bool {
	return slices.ContainsFunc(p.Queue, func(q Queue) bool { return q.Name == name })
}
