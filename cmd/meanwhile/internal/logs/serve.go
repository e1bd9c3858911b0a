package logs

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/alecthomas/kong"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/process"
)

// Serve has the flags of "meanwhile logs serve", filled in by kong.
type Serve struct {
	Config          string `env:"MEANWHILE_LOGS_SERVE_CONFIG" placeholder:"FILE" help:"Read settings from this YAML file. Its keys are the names of these flags, and routes, limits, redact, alerts, keep and forward. Routes, limits, redactions and alerts are reloaded on HUP."`
	AnaloggerConfig string `env:"MEANWHILE_LOGS_SERVE_ANALOGGER_CONFIG" placeholder:"FILE" help:"Use this configuration file of Analogger: its address, its key and its log destinations."`
	Check           bool   `help:"Only print the settings in effect, or the errors in them."`

	Dir       string        `group:"Storage and destinations" env:"MEANWHILE_LOGS_SERVE_DIR" default:"meanwhile-logs" placeholder:"DIR" help:"Store records in this folder (default ${default}, in the working directory), and the journal of line files. It is created when needed."`
	KeepAge   string        `group:"Storage and destinations" env:"MEANWHILE_LOGS_SERVE_KEEP_AGE" default:"30d" placeholder:"TIME" help:"Delete stored records that are older (default ${default}); 0 keeps all."`
	KeepSize  string        `group:"Storage and destinations" env:"MEANWHILE_LOGS_SERVE_KEEP_SIZE" default:"10GiB" placeholder:"SIZE" help:"Delete the oldest stored records when the store is larger on disk (default ${default}); 0 keeps all."`
	To        []string      `group:"Storage and destinations" env:"MEANWHILE_LOGS_SERVE_TO" default:"store" placeholder:"PLACE" help:"Default destination, for records without a route in the file: store, file:PATH (with {service} for the name of the service), stdout, stderr, socket:HOST:PORT. Repeatable (default ${default})."`
	Dedupe    bool          `group:"Storage and destinations" env:"MEANWHILE_LOGS_SERVE_DEDUPE" help:"Deduplicate at the default destination: a record that repeats the previous one is counted instead of stored."`
	Sync      string        `group:"Storage and destinations" env:"MEANWHILE_LOGS_SERVE_SYNC" default:"always" enum:"always,interval,os" help:"When to sync records to disk: always, before they are acknowledged; interval, at each --interval; or os, when the operating system does it (default ${default})."`
	Interval  time.Duration `group:"Storage and destinations" env:"MEANWHILE_LOGS_SERVE_INTERVAL" default:"1s" help:"The time between syncs, and the period in which repeats are counted (default ${default})."`
	MaxRecord int           `group:"Storage and destinations" env:"MEANWHILE_LOGS_SERVE_MAX_RECORD" default:"262144" placeholder:"BYTES" help:"Truncate the message of a longer record (default ${default})."`

	Listen    string `group:"Listeners" env:"MEANWHILE_LOGS_SERVE_LISTEN" default:"127.0.0.1:6767" placeholder:"HOST:PORT" help:"Listen for clients of meanwhile (default ${default}). An empty address turns this off; port 0 picks a free one."`
	Analogger string `group:"Listeners" env:"MEANWHILE_LOGS_SERVE_ANALOGGER" default:"127.0.0.1:6766" placeholder:"HOST:PORT" help:"Listen for clients of Analogger (default ${default})."`
	SyslogTCP string `group:"Listeners" env:"MEANWHILE_LOGS_SERVE_SYSLOG_TCP" name:"syslog-tcp" placeholder:"HOST:PORT" help:"Listen for syslog by TCP."`
	SyslogUDP string `group:"Listeners" env:"MEANWHILE_LOGS_SERVE_SYSLOG_UDP" name:"syslog-udp" placeholder:"HOST:PORT" help:"Listen for syslog by UDP."`
	SyslogTLS string `group:"Listeners" env:"MEANWHILE_LOGS_SERVE_SYSLOG_TLS" name:"syslog-tls" placeholder:"HOST:PORT" help:"Listen for syslog by TLS; it needs --tls-cert and --tls-key."`
	JSON      string `group:"Listeners" env:"MEANWHILE_LOGS_SERVE_JSON" name:"json" placeholder:"HOST:PORT" help:"Listen for JSON lines by TCP."`
	HTTP      string `group:"Listeners" env:"MEANWHILE_LOGS_SERVE_HTTP" name:"http" default:"127.0.0.1:6768" placeholder:"HOST:PORT" help:"Listen for HTTP: searches, and records as JSON lines, OTLP, push requests of Loki and bulk requests of Elasticsearch (default ${default})."`
	MaxConns  int    `group:"Listeners" env:"MEANWHILE_LOGS_SERVE_MAX_CONNS" default:"20000" placeholder:"N" help:"Maximum number of connections (default ${default})."`

	Key      string   `group:"Who may use it" env:"MEANWHILE_LOGS_SERVE_KEY" placeholder:"KEY" help:"Shared key that clients must send. Other users of this machine can see the flag, but not the variable or the file."`
	KeyFile  string   `group:"Who may use it" env:"MEANWHILE_LOGS_SERVE_KEY_FILE" placeholder:"FILE" help:"Read the key from this file."`
	User     []string `group:"Who may use it" env:"MEANWHILE_LOGS_SERVE_USER" placeholder:"NAME:ROLE:HASH" help:"A user who may sign in to the web page and search records: meanwhile serve hash-password prints the hash. The role is viewer. Repeatable."`
	UserFile string   `group:"Who may use it" env:"MEANWHILE_LOGS_SERVE_USER_FILE" placeholder:"FILE" help:"File with more users, one per line as for --user. It is read at the start."`
	Token    []string `group:"Who may use it" env:"MEANWHILE_LOGS_SERVE_TOKEN" placeholder:"NAME:ROLE:HASH" help:"A token for programs that search records: meanwhile serve new-token prints one. The role is viewer. Repeatable."`
	TLSCert  string   `group:"Who may use it" env:"MEANWHILE_LOGS_SERVE_TLS_CERT" placeholder:"FILE" help:"Serve TLS with this certificate chain, in PEM, to clients of meanwhile, HTTP and syslog by TLS. It is reloaded when it changes, and on HUP."`
	TLSKey   string   `group:"Who may use it" env:"MEANWHILE_LOGS_SERVE_TLS_KEY" placeholder:"FILE" help:"Private key of the certificate."`
	ClientCA string   `group:"Who may use it" env:"MEANWHILE_LOGS_SERVE_CLIENT_CA" placeholder:"FILE" help:"Accept only clients with a certificate that is signed by one of these authorities, in PEM."`
	Host     []string `group:"Who may use it" env:"MEANWHILE_LOGS_SERVE_HOST" placeholder:"NAME" help:"Allowed host name of HTTP requests, such as logs.example.org. Without users, tokens and a key, only such names, the host of --http, localhost and loopback addresses are served. Repeatable."`
	NoAuth   bool     `group:"Who may use it" env:"MEANWHILE_LOGS_SERVE_NO_AUTH" help:"Turn authentication off: accept every client that can reach the addresses; HTTP requests still need an allowed host name."`

	AllowPrivate   bool   `group:"Webhooks of alerts" env:"MEANWHILE_LOGS_SERVE_ALLOW_PRIVATE" help:"Allow webhooks at private addresses, such as those of this machine and its network, and through the proxy of the environment."`
	WebhookKeyFile string `group:"Webhooks of alerts" env:"MEANWHILE_LOGS_SERVE_WEBHOOK_KEY_FILE" placeholder:"FILE" help:"Sign the calls with the key in this file: whsec_ and base64, or any text of at least 24 bytes. The variable MEANWHILE_WEBHOOK_KEY has the key itself."`

	PIDFile string        `env:"MEANWHILE_LOGS_SERVE_PID_FILE" name:"pid-file" placeholder:"FILE" help:"Write the process ID to this file, also after USR2 replaces the program."`
	Grace   time.Duration `env:"MEANWHILE_LOGS_SERVE_GRACE" default:"5s" help:"Grace period at shutdown (default ${default})."`

	routes     routeSettings
	flags      map[string]*kong.Flag
	configFlag string // names the file in another command; empty: --config
}

// Help is the text above the flags.
func (*Serve) Help() string {
	return `Receives log records from clients of meanwhile, Analogger, Loki and Elasticsearch, by syslog, JSON lines and OTLP. Stores them in
a folder that can be searched, writes them to line files, or forwards them to other systems.

Precedence of settings: flag, environment variable, file of --config, default. Lists in the environment are separated by commas.
The file also has routes and rate limits by service, alerts and redactions, see docs/logs.md, and outputs to forward to, see docs/logs-forward.md.

Without a key, users, tokens and client certificates it serves this machine only. Each listener may have options after its
address: allow=NETWORKS, auth=off, key-file=FILE, tls=on or off, client-ca=FILE or off, as in
--syslog-udp '0.0.0.0:514?allow=192.168.0.0/16'.

HUP syncs and reopens the files, and reloads the routes, the limits, the redactions, the alerts and the certificate. USR2 replaces the process with the
program that is installed now, without refusing a connection. Ctrl-C and TERM read the records that connections have already sent,
write them, and exit; a second one exits immediately.

Exit codes: 0 stopped; 1 not able to serve; 2 usage error; 124 something did not stop in time.`
}

// BeforeResolve makes kong use settings from the file if neither a flag nor the environment has them.
func (c *Serve) BeforeResolve(ctx *kong.Context, path *kong.Path) error {
	file := c.routes.file()
	file.Check, file.Flag = c.check, c.configFlag
	c.flags = map[string]*kong.Flag{}
	for _, f := range path.Flags {
		c.flags[f.Name] = f
	}
	return file.Resolve(ctx, path)
}

// Run serves. If the exit code is not 0, it exits the process.
func (c *Serve) Run(streams probe.Streams) error {
	p, err := c.plan(slog.New(slog.NewTextHandler(streams.Err, nil)), streams)
	if err != nil {
		return &probe.UsageError{Err: err}
	}
	if c.Check {
		_, err := fmt.Fprint(streams.Out, p)
		return err
	}
	process.Config{Grace: c.Grace + 3*time.Second}.Main(func(ctx context.Context) error { return p.serve(ctx) }, meanwhile.Name("meanwhile"))
	return nil
}
