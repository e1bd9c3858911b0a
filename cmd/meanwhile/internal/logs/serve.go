package logs

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/alecthomas/kong"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/inspect"
)

// Serve is what "meanwhile logs serve" was asked for, as kong fills it.
type Serve struct {
	Config          string `env:"MEANWHILE_LOGS_SERVE_CONFIG" placeholder:"FILE" help:"Read settings from this YAML file. Its keys are the names of these flags, and routes, limits, keep and forward. Routes and limits are read again at HUP."`
	AnaloggerConfig string `env:"MEANWHILE_LOGS_SERVE_ANALOGGER_CONFIG" placeholder:"FILE" help:"Do what this configuration file of Analogger says: where it listens, its key, and where records go."`
	Check           bool   `help:"Only say what would be done, or what is wrong with the settings."`

	Dir       string        `group:"What is kept" env:"MEANWHILE_LOGS_SERVE_DIR" default:"meanwhile-logs" placeholder:"DIR" help:"Keep records in this folder (default ${default}, in the working directory), and what is on its way into line files. It is made when it is needed and not there."`
	KeepAge   string        `group:"What is kept" env:"MEANWHILE_LOGS_SERVE_KEEP_AGE" default:"30d" placeholder:"TIME" help:"There, delete records that are older (default ${default}); 0 deletes none."`
	KeepSize  string        `group:"What is kept" env:"MEANWHILE_LOGS_SERVE_KEEP_SIZE" default:"10GiB" placeholder:"SIZE" help:"There, delete the oldest records when all have more bytes on disk (default ${default}); 0 deletes none."`
	To        []string      `group:"What is kept" env:"MEANWHILE_LOGS_SERVE_TO" default:"store" placeholder:"PLACE" help:"Where records go for which the routes of the file say nothing: store, file:PATH (with {service} for the name of the service), stdout, stderr, socket:HOST:PORT. Repeatable (default ${default})."`
	Cull      bool          `group:"What is kept" env:"MEANWHILE_LOGS_SERVE_CULL" help:"There, count records that repeat the one before, instead of keeping them."`
	Sync      string        `group:"What is kept" env:"MEANWHILE_LOGS_SERVE_SYNC" default:"always" enum:"always,interval,os" help:"When what is kept is on disk: always before it is acknowledged; at each interval; or when the system likes (default ${default})."`
	Interval  time.Duration `group:"What is kept" env:"MEANWHILE_LOGS_SERVE_INTERVAL" default:"1s" help:"The time between syncs of files, and in which repeats are looked for (default ${default})."`
	MaxRecord int           `group:"What is kept" env:"MEANWHILE_LOGS_SERVE_MAX_RECORD" default:"262144" placeholder:"BYTES" help:"Cut messages of longer records (default ${default})."`

	Listen    string `group:"Where records come from" env:"MEANWHILE_LOGS_SERVE_LISTEN" default:"127.0.0.1:6767" placeholder:"HOST:PORT" help:"Listen for clients of this program (default ${default}). An address that is empty is not listened on; port 0 is a free one."`
	Analogger string `group:"Where records come from" env:"MEANWHILE_LOGS_SERVE_ANALOGGER" default:"127.0.0.1:6766" placeholder:"HOST:PORT" help:"Listen for clients of Analogger (default ${default})."`
	SyslogTCP string `group:"Where records come from" env:"MEANWHILE_LOGS_SERVE_SYSLOG_TCP" name:"syslog-tcp" placeholder:"HOST:PORT" help:"Listen for syslog by TCP."`
	SyslogUDP string `group:"Where records come from" env:"MEANWHILE_LOGS_SERVE_SYSLOG_UDP" name:"syslog-udp" placeholder:"HOST:PORT" help:"Listen for syslog by UDP."`
	SyslogTLS string `group:"Where records come from" env:"MEANWHILE_LOGS_SERVE_SYSLOG_TLS" name:"syslog-tls" placeholder:"HOST:PORT" help:"Listen for syslog by TLS; it needs --tls-cert and --tls-key."`
	JSON      string `group:"Where records come from" env:"MEANWHILE_LOGS_SERVE_JSON" name:"json" placeholder:"HOST:PORT" help:"Listen for lines of JSON by TCP."`
	HTTP      string `group:"Where records come from" env:"MEANWHILE_LOGS_SERVE_HTTP" name:"http" default:"127.0.0.1:6768" placeholder:"HOST:PORT" help:"Listen for searches, and for records by HTTP (default ${default})."`
	MaxConns  int    `group:"Where records come from" env:"MEANWHILE_LOGS_SERVE_MAX_CONNS" default:"20000" placeholder:"N" help:"Serve so many connections at once (default ${default})."`

	Key      string   `group:"Who may use it" env:"MEANWHILE_LOGS_SERVE_KEY" placeholder:"KEY" help:"What clients must bring. Other users of this machine see the flag; the variable and the file they do not."`
	KeyFile  string   `group:"Who may use it" env:"MEANWHILE_LOGS_SERVE_KEY_FILE" placeholder:"FILE" help:"Read the key from this file."`
	User     []string `group:"Who may use it" env:"MEANWHILE_LOGS_SERVE_USER" placeholder:"NAME:ROLE:HASH" help:"Let this user sign in to the page with what is kept: meanwhile serve hash-password makes the hash. The role is viewer. Repeatable."`
	Token    []string `group:"Who may use it" env:"MEANWHILE_LOGS_SERVE_TOKEN" placeholder:"NAME:ROLE:HASH" help:"Let those read what is kept who bring this token: meanwhile serve new-token makes one. The role is viewer. Repeatable."`
	TLSCert  string   `group:"Who may use it" env:"MEANWHILE_LOGS_SERVE_TLS_CERT" placeholder:"FILE" help:"Speak TLS with this certificate, in PEM. It is read again when it changes, and at HUP."`
	TLSKey   string   `group:"Who may use it" env:"MEANWHILE_LOGS_SERVE_TLS_KEY" placeholder:"FILE" help:"The key of the certificate."`
	ClientCA string   `group:"Who may use it" env:"MEANWHILE_LOGS_SERVE_CLIENT_CA" placeholder:"FILE" help:"Let in clients whose certificates one of these has signed, in PEM, and nobody else."`
	Open     bool     `group:"Who may use it" env:"MEANWHILE_LOGS_SERVE_OPEN" help:"Let everybody in who can reach the addresses."`

	PIDFile string        `env:"MEANWHILE_LOGS_SERVE_PID_FILE" name:"pid-file" placeholder:"FILE" help:"Keep the ID of the process in this file, also when USR2 replaces the program."`
	Grace   time.Duration `env:"MEANWHILE_LOGS_SERVE_GRACE" default:"5s" help:"The time to end in (default ${default})."`

	routes routeSettings
	flags  map[string]*kong.Flag
}

// Help is the text above the flags.
func (*Serve) Help() string {
	return `Takes records in, from clients of this program and of Analogger, by syslog, JSON and HTTP, and keeps them in a folder
where they are found again, in files of lines, or sends them on.

A setting comes from the flag, else from the environment variable, else from the file of --config, else it has its default. A
list in the environment is written with commas. Where records of some services go, and how many of them may come, is told by
routes and limits in the file: see docs/logs.md; where they go onwards to, by forward: see docs/logs-forward.md.

Without a key, users, tokens and certificates of clients it serves this machine only.

HUP syncs the files, opens them again and reads the routes, the limits and the certificate again. USR2 replaces the program by
the one that lies there now; no connection is refused, and what comes by TCP goes on. Ctrl-C and TERM take what connections
still hold, write it, and print what was running; a second one exits at once.

Exit codes: 0 stopped; 1 not able to serve; 2 a wrong setting; 124 something did not stop in time.`
}

// BeforeResolve lets kong take settings from the file, where neither a flag nor the environment has them.
func (c *Serve) BeforeResolve(ctx *kong.Context, path *kong.Path) error {
	file := c.routes.file()
	file.Check = c.check
	c.flags = map[string]*kong.Flag{}
	for _, f := range path.Flags {
		c.flags[f.Name] = f
	}
	return file.Resolve(ctx, path)
}

// Run serves. When the exit code is not 0 it exits.
func (c *Serve) Run(streams inspect.Streams) error {
	p, err := c.plan(slog.New(slog.NewTextHandler(streams.Err, nil)), streams)
	if err != nil {
		return &inspect.UsageError{Err: err}
	}
	if c.Check {
		_, err := fmt.Fprint(streams.Out, p)
		return err
	}
	meanwhile.Main(func(ctx context.Context) error { return p.serve(ctx) }, meanwhile.Name("meanwhile"), meanwhile.Grace(c.Grace+3*time.Second))
	return nil
}
