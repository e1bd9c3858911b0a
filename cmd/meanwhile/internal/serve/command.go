// Package serve is the command "meanwhile serve".
package serve

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/inspect"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/jobs"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/work"
)

// A Command is what "meanwhile serve" was asked for, as kong fills it.
type Command struct {
	Do string `arg:"" optional:"" default:"" enum:",hash-password,new-token" help:"hash-password reads a password from standard input and prints its hash, for --user; new-token prints a new token and its hash, for --token. Without it, serve."`

	Config string `env:"MEANWHILE_CONFIG" placeholder:"FILE" help:"Read settings from this YAML file. Its keys are the names of these flags."`
	Check  bool   `help:"Only say what would be done, or what is wrong with the settings."`
	jobs.Target
	work.Pool

	Logs          string `group:"Logs" env:"MEANWHILE_LOGS" placeholder:"URL" help:"Show the records of this server of logs, too, such as http://127.0.0.1:6768 (default none)."`
	LogsDir       string `group:"Logs" env:"MEANWHILE_LOGS_DIR" placeholder:"DIR" help:"Be a server of logs, too, as meanwhile logs serve is one: take records in, keep them in this folder, and show them (default none)."`
	LogsConfig    string `group:"Logs" env:"MEANWHILE_LOGS_CONFIG" placeholder:"FILE" help:"Be one with the settings of this YAML file, whose keys are the names of the flags of meanwhile logs serve."`
	LogsTokenFile string `group:"Logs" env:"MEANWHILE_LOGS_TOKEN_FILE" placeholder:"FILE" help:"Its token for reading is in this file. Without it, MEANWHILE_LOGS_TOKEN is the token."`
	LogsCA        string `group:"Logs" name:"logs-ca" env:"MEANWHILE_LOGS_CA" placeholder:"FILE" help:"Trust its certificate when one of these has signed it, in PEM (default those that the system trusts)."`

	Listen  string   `group:"Who may use it" env:"MEANWHILE_LISTEN" default:"127.0.0.1:7070" placeholder:"HOST:PORT" help:"Listen on this address (default ${default}); port 0 is a free one. One that others can reach needs users, tokens or --open."`
	User    []string `group:"Who may use it" env:"MEANWHILE_USER" placeholder:"NAME:ROLE:HASH" help:"Let this user sign in. The role is admin, or viewer, who may look only. Repeatable."`
	Token   []string `group:"Who may use it" env:"MEANWHILE_TOKEN" placeholder:"NAME:ROLE:HASH" help:"Let programs in that bring this token. Repeatable."`
	Open    bool     `group:"Who may use it" env:"MEANWHILE_OPEN" help:"Let everybody do everything who can reach the address: where something else asks who they are."`
	Proxy   bool     `group:"Who may use it" env:"MEANWHILE_PROXY" help:"Believe X-Forwarded-For and X-Forwarded-Proto, which a reverse proxy sets that nobody comes past."`
	TLSCert string   `group:"Who may use it" env:"MEANWHILE_TLS_CERT" placeholder:"FILE" help:"Speak TLS with this certificate, in PEM, with those that lead to its root. It is read again when it changes, and at HUP."`
	TLSKey  string   `group:"Who may use it" env:"MEANWHILE_TLS_KEY" placeholder:"FILE" help:"The key of the certificate."`
	Mask    []string `group:"Who may use it" env:"MEANWHILE_MASK" placeholder:"NAME" help:"Show ••• for the value of fields with this name, in args, results and errors. Repeatable (default password, token, secret, api_key and others like them; none masks nothing)."`
}

// Help is the text above the flags.
func (*Command) Help() string {
	return `Serves the dashboard, the HTTP API for programs in any language (/api/v1), metrics (/metrics) and health (/healthz, /readyz),
and runs the jobs of kind http.request as "meanwhile work" does; with --concurrency 0 it runs none. The store is made if
it is a SQLite file that is not there.

A setting comes from the flag, else from the environment variable, else from the file of --config, else it has its default. A
list in the environment is written with commas.

Without users and tokens it answers this machine only.

Ctrl-C lets what runs end, for 5 seconds, and exits; a second one exits at once.

Exit codes: 0 stopped; 1 not able to serve; 2 a wrong setting; 124 something did not stop in time.`
}

// Run serves. When the exit code is not 0 it exits.
func (c *Command) Run(streams inspect.Streams) error {
	switch c.Do {
	case "hash-password":
		return hashPassword(streams)
	case "new-token":
		return newToken(streams)
	}
	p, err := c.plan(slog.New(slog.NewTextHandler(streams.Err, nil)), streams)
	if err != nil {
		return &inspect.UsageError{Err: err}
	}
	if c.Check {
		_, err := fmt.Fprint(streams.Out, p)
		return err
	}
	meanwhile.Main(func(ctx context.Context) error { return p.serve(ctx) }, meanwhile.Name("meanwhile"))
	return nil
}
