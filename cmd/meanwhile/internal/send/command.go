// Package send is the command "meanwhile logs send".
package send

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/certificate"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/when"
	"github.com/meanwhile-go/meanwhile/internal/severity"
	"github.com/meanwhile-go/meanwhile/logs"
)

// A Command has the flags of "meanwhile logs send", filled in by kong.
type Command struct {
	Program []string `arg:"" optional:"" passthrough:"" name:"command" help:"Run this command, and send its output. Without one, standard input is sent."`

	To      string        `env:"MEANWHILE_LOGS_TO" default:"tcp://127.0.0.1:6767" placeholder:"URL" help:"URL of the log server, tcp://HOST:PORT or tls://HOST:PORT (default ${default})."`
	Service string        `env:"MEANWHILE_SERVICE" placeholder:"NAME" help:"Service of records that have none. The default is the name of the command."`
	Follow  []string      `sep:"none" placeholder:"GLOB" help:"Send the lines of files that match, such as '/var/log/*.log', from the start of each file, as they are written. Repeatable."`
	State   string        `env:"MEANWHILE_STATE" placeholder:"FOLDER" help:"Store the positions of followed files in this folder. The default is a folder for the service in the user's cache directory."`
	Tee     bool          `help:"Also pass the output through, unchanged."`
	Wait    time.Duration `default:"5s" help:"At the end, wait this long for the server to acknowledge everything; the rest goes to the spool (default ${default})."`

	Level     string `group:"How lines become records" default:"info" placeholder:"LEVEL" help:"Level of records that have none (default ${default})."`
	Multiline string `group:"How lines become records" placeholder:"REGEXP" help:"A line that matches starts a record; all others belong to the previous one. By default, lines that begin with white space belong to the previous one."`
	Lines     bool   `group:"How lines become records" help:"Send each line as a record of its own."`
	Text      bool   `group:"How lines become records" help:"Do not parse lines as JSON."`
	MaxRecord int    `group:"How lines become records" default:"262144" placeholder:"BYTES" help:"Truncate longer records (default ${default})."`

	Spool      string    `group:"Spool of unacknowledged records" env:"MEANWHILE_SPOOL" placeholder:"FOLDER" help:"Keep these records in this folder; \"off\" turns the spool off. The default is a folder for the service in the user's cache directory."`
	SpoolBytes int64     `group:"Spool of unacknowledged records" default:"268435456" placeholder:"BYTES" help:"Maximum size of the spool; beyond it the oldest records are dropped (default ${default})."`
	SpoolAge   when.Span `group:"Spool of unacknowledged records" default:"7d" placeholder:"TIME" help:"Keep records in the spool this long (default ${default})."`

	Key     string `group:"Authentication and TLS" env:"MEANWHILE_KEY" placeholder:"KEY" help:"Shared key of the server. Other users of this machine can see the flag, but not the variable or the file."`
	KeyFile string `group:"Authentication and TLS" env:"MEANWHILE_KEY_FILE" placeholder:"FILE" help:"Read the key from this file."`
	CA      string `group:"Authentication and TLS" env:"MEANWHILE_CA" name:"ca" placeholder:"FILE" help:"Certificate authorities to trust, in PEM (default those of the system)."`
	TLSCert string `group:"Authentication and TLS" env:"MEANWHILE_LOGS_TLS_CERT" name:"tls-cert" placeholder:"FILE" help:"Client certificate, in PEM."`
	TLSKey  string `group:"Authentication and TLS" env:"MEANWHILE_LOGS_TLS_KEY" name:"tls-key" placeholder:"FILE" help:"Private key of the client certificate."`
}

// Help is the text above the flags.
func (*Command) Help() string {
	return `Sends lines of standard input, or of a command that it runs, to a log server: see "meanwhile logs serve".

    server 2>&1 | meanwhile logs send --service api
    meanwhile logs send --service api -- server --port 80
    journalctl -o json --all --follow | meanwhile logs send --service journal
    meanwhile logs send --service nginx --follow '/var/log/nginx/*.log'

A line that is a JSON object becomes a record with its fields. Other lines are messages; a line that begins with white
space belongs to the previous one, as in stack traces. Records that the server does not acknowledge are kept in a folder, the
spool. When the server is back they are sent, by this process or by the next one with the same folder.

Records from standard error of the command have the attribute stream. The signals HUP, INT, QUIT, TERM, USR1, USR2 and WINCH are
passed on to the command. In the foreground of a terminal, which sends them to both, INT, QUIT and WINCH are not: kill -INT of
this process alone has no effect there. The command keeps running whatever happens to the records: while memory and spool are
full, it is blocked for a second, and after that for at most a tenth of the time; records that still do not fit are dropped and
counted. After the end of the input, Ctrl-C stops the wait for the server; before it, Ctrl-C waits up to --wait for the input to end.

With --follow it reads files until Ctrl-C or TERM, also while they are renamed or truncated and new ones appear. It reads only as
fast as the server accepts records, so the files are the buffer and there is no spool. The position up to which the server has each
file is stored in --state; the next process continues there. After a kill or a power failure, records of the last second may be sent
again, but none are skipped.

Exit codes: that of the command, or 128 plus its signal; 126 or 127 when it cannot be run. Without a command, 0 when the server
has all records or the spool keeps the rest, 1 when some were lost. 2 usage error.`
}

// A plan is a valid configuration.
type plan struct {
	*Command
	streams  probe.Streams
	level    slog.Level
	begin    *regexp.Regexp
	options  logs.SenderOptions
	problems func(format string, args ...any)
	state    *followState // nil without --follow
}

// Run sends until the input ends, or the command exits.
func (c *Command) Run(streams probe.Streams) error {
	p := &plan{Command: c, streams: streams}
	p.problems = func(format string, args ...any) {
		fmt.Fprintf(streams.Err, "meanwhile logs send: "+format+"\n", args...)
	}
	for _, step := range []func() error{p.readLines, p.readService, p.readFollow, p.readKey, p.readTLS} {
		if err := step(); err != nil {
			return &probe.UsageError{Err: err}
		}
	}
	if len(c.Follow) > 0 {
		state, err := openState(p.State)
		if err != nil {
			return &probe.UsageError{Err: fmt.Errorf("--state: %w", err)}
		}
		defer state.close()
		p.state = state
	}
	sender, err := logs.NewSender(c.To, &p.options)
	if err != nil { // the rest was checked above
		return &probe.UsageError{Err: fmt.Errorf("--to: %w", err)}
	}
	return p.send(sender)
}

// mostRecord is the maximum of --max-record. With the path of a file and the note about missing bytes, such a record is just below the size at which
// the sender truncates it, which would remove the note.
const mostRecord = 500 << 10

func (p *plan) readLines() (err error) {
	var ok bool
	if p.level, ok = severity.Level([]byte(p.Level)); !ok {
		return fmt.Errorf("--level: %.40q is not one of debug, info, warn, error and fatal", p.Level)
	}
	switch {
	case p.Lines && p.Multiline != "":
		return errors.New("--lines and --multiline: give one of them")
	case p.MaxRecord < 64 || p.MaxRecord > mostRecord:
		return fmt.Errorf("--max-record: give a number from 64 to %d", mostRecord)
	case p.Wait <= 0:
		return errors.New("--wait: give a time above 0")
	case p.Multiline != "":
		if p.begin, err = regexp.Compile(p.Multiline); err != nil {
			return fmt.Errorf("--multiline: %w", err)
		}
	}
	return nil
}

func (p *plan) readService() error {
	if len(p.Program) > 0 {
		if p.Program[0] == "--" {
			p.Program = p.Program[1:]
		} else if strings.HasPrefix(p.Program[0], "-") {
			return fmt.Errorf("unknown flag %.40q; put a command that starts with - after --", p.Program[0])
		}
	}
	switch {
	case p.Service != "":
	case len(p.Program) > 0:
		p.Service, _ = logs.RepairService(filepath.Base(p.Program[0]))
	default:
		return errors.New("--service: give the name of the program that writes the records")
	}
	if err := logs.CheckService(p.Service); err != nil {
		return fmt.Errorf("--service: %w", err)
	}
	p.options = logs.SenderOptions{
		Service: p.Service, Spool: p.Spool, SpoolBytes: p.SpoolBytes, SpoolAge: time.Duration(p.SpoolAge),
		OnError: func(err error) { p.problems("%s", probe.Printable(err.Error())) },
	}
	return nil
}

func (p *plan) readFollow() error {
	if len(p.Follow) == 0 {
		if p.State != "" && os.Getenv("MEANWHILE_STATE") == "" {
			return errors.New("--state: it is for --follow")
		}
		return nil
	}
	switch {
	case len(p.Program) > 0:
		return errors.New("--follow and a command: give one of them")
	case p.Tee:
		return errors.New("--follow and --tee: give one of them")
	}
	for i, pattern := range p.Follow {
		if _, err := filepath.Match(pattern, ""); err != nil || pattern == "" {
			return fmt.Errorf("--follow: %.100q is not a pattern such as '/var/log/*.log'", pattern)
		}
		whole, err := filepath.Abs(pattern) // the next process may start in another folder
		if err != nil {
			return fmt.Errorf("--follow: %w", err)
		}
		p.Follow[i] = whole
	}
	p.options.Spool = logs.SpoolOff // the files are the spool
	if p.State != "" {
		return nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return fmt.Errorf("--state: give a folder: %w", err)
	}
	p.State = filepath.Join(cache, "meanwhile", "follow", url.PathEscape(p.Service))
	return nil
}

func (p *plan) readKey() error {
	p.options.Key = p.Key
	if p.KeyFile == "" {
		return nil
	}
	if p.Key != "" {
		return errors.New("--key and --key-file: give one of them")
	}
	text, err := os.ReadFile(p.KeyFile)
	if err != nil {
		return fmt.Errorf("--key-file: %w", err)
	}
	p.options.Key = strings.TrimRight(string(text), "\r\n")
	return nil
}

func (p *plan) readTLS() (err error) {
	p.options.TLS, err = certificate.Client(p.CA, p.TLSCert, p.TLSKey, func(name string) string { return "--" + name })
	return err
}
