// Package serve is the command "meanwhile serve".
package serve

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/jobs"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/work"
	"github.com/meanwhile-go/meanwhile/process"
)

// A Command has the flags of "meanwhile serve", filled in by kong.
type Command struct {
	Do string `arg:"" optional:"" default:"" enum:",hash-password,new-token" help:"hash-password reads a password from standard input and prints its hash, for --user; new-token prints a new token and its hash, for --token. Without it, serve."`

	Config string `env:"MEANWHILE_CONFIG" placeholder:"FILE" help:"Read settings from this YAML file. Its keys are the names of these flags."`
	Check  bool   `help:"Only print the settings in effect, or the errors in them."`
	jobs.Target
	Migrate bool `env:"MEANWHILE_MIGRATE" help:"Create or migrate the tables of the store at the start, as meanwhile jobs migrate does. A SQLite file is migrated anyway."`
	work.Pool

	Logs          string `group:"Logs" env:"MEANWHILE_LOGS" placeholder:"URL" help:"Also show the records of this log server, such as http://127.0.0.1:6768 (default none)."`
	LogsDir       string `group:"Logs" env:"MEANWHILE_LOGS_DIR" placeholder:"DIR" help:"Also run a log server, as meanwhile logs serve does: receive records, store them in this folder and show them (default none)."`
	LogsConfig    string `group:"Logs" env:"MEANWHILE_LOGS_CONFIG" placeholder:"FILE" help:"Settings of that log server: a YAML file whose keys are the flags of meanwhile logs serve."`
	LogsTokenFile string `group:"Logs" env:"MEANWHILE_LOGS_TOKEN_FILE" placeholder:"FILE" help:"File with the read token of the log server. Without it, MEANWHILE_LOGS_TOKEN is the token."`
	LogsCA        string `group:"Logs" name:"logs-ca" env:"MEANWHILE_LOGS_CA" placeholder:"FILE" help:"Certificate authorities to trust for the log server, in PEM (default those of the system)."`
	LogsTLSCert   string `group:"Logs" name:"logs-tls-cert" env:"MEANWHILE_LOGS_TLS_CERT" placeholder:"FILE" help:"Client certificate for the log server, in PEM."`
	LogsTLSKey    string `group:"Logs" name:"logs-tls-key" env:"MEANWHILE_LOGS_TLS_KEY" placeholder:"FILE" help:"Private key of that certificate."`

	Faktory             string `group:"Faktory" env:"MEANWHILE_FAKTORY" placeholder:"HOST:PORT" help:"Also serve the jobs to clients of the Faktory job server, on this address, such as 127.0.0.1:7419 (default none). An address that others can reach needs a password or --no-auth."`
	FaktoryPasswordFile string `group:"Faktory" env:"MEANWHILE_FAKTORY_PASSWORD_FILE" placeholder:"FILE" help:"File with the password of these clients. Without it, MEANWHILE_FAKTORY_PASSWORD is the password."`
	FaktoryFlush        bool   `group:"Faktory" env:"MEANWHILE_FAKTORY_FLUSH" help:"Allow these clients to use the command FLUSH, which deletes every job that is not running, including those of other programs."`

	Listen   string   `group:"Who may use it" env:"MEANWHILE_LISTEN" default:"127.0.0.1:7070" placeholder:"HOST:PORT" help:"Listen on this address (default ${default}); port 0 picks a free one. An address that others can reach needs users, tokens or --no-auth."`
	Host     []string `group:"Who may use it" env:"MEANWHILE_HOST" placeholder:"NAME" help:"Allowed host name of requests, such as jobs.example.org. Without users and tokens, only such names, the host of --listen, localhost and loopback addresses are served; with them, every name is served unless this flag is given. Repeatable."`
	User     []string `group:"Who may use it" env:"MEANWHILE_USER" placeholder:"NAME:ROLE:HASH" help:"A user who may sign in. The role is admin, or viewer for read-only access. Repeatable."`
	UserFile string   `group:"Who may use it" env:"MEANWHILE_USER_FILE" placeholder:"FILE" help:"File with more users, one per line as for --user. It is read at the start."`
	Token    []string `group:"Who may use it" env:"MEANWHILE_TOKEN" placeholder:"NAME:ROLE:HASH" help:"A token for programs. The role is admin, viewer, or worker for programs that only enqueue and run jobs. Repeatable."`
	NoAuth   bool     `group:"Who may use it" env:"MEANWHILE_NO_AUTH" help:"Turn authentication off: every client that can reach the address and asks for an allowed host may do everything. For use behind a proxy that authenticates."`
	Proxy    bool     `group:"Who may use it" env:"MEANWHILE_PROXY" help:"Trust X-Forwarded-For and X-Forwarded-Proto. For use behind a reverse proxy that is the only way to this server."`
	TLSCert  string   `group:"Who may use it" env:"MEANWHILE_TLS_CERT" placeholder:"FILE" help:"Serve TLS with this certificate chain, in PEM. It is reloaded when it changes, and on HUP."`
	TLSKey   string   `group:"Who may use it" env:"MEANWHILE_TLS_KEY" placeholder:"FILE" help:"Private key of the certificate."`
	Mask     []string `group:"Who may use it" env:"MEANWHILE_MASK" placeholder:"NAME" help:"Show ••• for the value of fields with this name, in args, results and errors. Repeatable (default password, token, secret, api_key and others like them; none masks nothing)."`
}

// Help is the text above the flags.
func (*Command) Help() string {
	return `Serves the dashboard, the HTTP API for programs in any language (/api/v1), Prometheus metrics (/metrics) and health checks
(/healthz, /readyz), and runs a worker for jobs of kind http.request like "meanwhile work"; --concurrency 0 turns that off. With --faktory, clients of the
Faktory job server enqueue and run jobs here.
A SQLite file that does not exist is created. If a database does not respond at the start, serve retries for a minute.

Precedence of settings: flag, environment variable, file of --config, default. Lists in the environment are separated by commas.

Without users and tokens it serves this machine only.

Ctrl-C waits up to 5 seconds for running requests and jobs, then exits; a second one exits immediately.

Exit codes: 0 stopped; 1 not able to serve; 2 usage error; 124 something did not stop in time; 130 interrupted before it served.`
}

// Run serves. If the exit code is not 0, it exits the process.
func (c *Command) Run(streams probe.Streams) error {
	switch c.Do {
	case "hash-password":
		return hashPassword(streams)
	case "new-token":
		return newToken(streams)
	}
	p, err := c.plan(slog.New(slog.NewTextHandler(streams.Err, nil)), streams)
	if err != nil {
		return &probe.UsageError{Err: err}
	}
	if c.Check {
		_, err := fmt.Fprint(streams.Out, p)
		return err
	}
	process.Main(func(ctx context.Context) error { return p.serve(ctx) }, meanwhile.Name("meanwhile"))
	return nil
}
