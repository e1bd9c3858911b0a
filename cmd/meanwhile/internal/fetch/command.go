// Package fetch is the command "meanwhile fetch".
package fetch

import (
	"errors"
	"io"
	"time"
)

// A Command is what "meanwhile fetch" was asked for, as kong fills it.
type Command struct {
	URLs []string `arg:"" optional:"" name:"url" help:"What to fetch. example.com/x stands for http://example.com/x."`
	From string   `placeholder:"FILE" help:"Read URLs from this file, one a line; - is standard input, which is also read when no URL is given. Empty lines and lines that begin with # are skipped."`

	Limit       limit `short:"n" default:"64" placeholder:"N|auto" group:"How many at once" help:"Run up to N at once (default ${default}); auto finds out how many the far side can take."`
	Min         int   `default:"4" placeholder:"N" group:"How many at once" help:"Least that -n auto may choose (default ${default})."`
	Max         int   `default:"512" placeholder:"N" group:"How many at once" help:"Most that -n auto may choose (default ${default})."`
	PerHost     int   `placeholder:"N" group:"How many at once" help:"Run up to N at once for each host. It looks 1,024 URLs ahead for other hosts: behind so many of one busy host, others wait."`
	Rate        rate  `placeholder:"N/s" group:"How many at once" help:"Start no more than so many: 50/s, 100/m or 1000/h; further attempts count."`
	PerHostRate rate  `placeholder:"N/s" group:"How many at once" help:"The same for each host. A host that 10,000 others came after is forgotten."`

	Request    string   `short:"X" placeholder:"METHOD" group:"Request" help:"Method (default GET; POST with a body; HEAD with --head)."`
	Header     []string `short:"H" sep:"none" placeholder:"LINE" group:"Request" help:"Send this header, as \"Name: value\"; \"Name:\" leaves a default one out. Repeatable."`
	Data       []string `short:"d" sep:"none" placeholder:"DATA" group:"Request" help:"Send this body, or with @FILE that of a file without its line ends. Several are joined by &."`
	DataBinary []string `sep:"none" placeholder:"DATA" group:"Request" help:"The same, with a file as it is."`
	UserAgent  string   `short:"A" placeholder:"NAME" group:"Request" help:"What to call ourselves."`
	Head       bool     `short:"I" group:"Request" help:"Only check: ask for the headers alone."`
	Location   bool     `short:"L" group:"Request" help:"Follow redirects; without it a 3xx is an answer like others."`
	MaxRedirs  int      `default:"50" placeholder:"N" group:"Request" help:"Follow so many at most (default ${default})."`
	Compressed bool     `group:"Request" help:"Ask for a compressed answer and expand it."`
	Insecure   bool     `short:"k" group:"Request" help:"Accept any certificate."`

	MaxTime        seconds `short:"m" default:"30s" placeholder:"TIME" group:"Bounds" help:"Time for each attempt, in seconds or as 1m30s (default ${default})."`
	ConnectTimeout seconds `default:"10s" placeholder:"TIME" group:"Bounds" help:"Time for each connection (default ${default})."`
	MaxBytes       size    `default:"100M" placeholder:"SIZE" aliases:"max-filesize" group:"Bounds" help:"Longest body taken, a longer one fails; k, M and G are powers of 1024 (default ${default})."`
	Retry          int     `placeholder:"N" group:"Bounds" help:"Try up to N times again after 408, 429, 5xx, timeouts and broken connections, whatever the method. Retry-After is honoured."`
	RetryDelay     seconds `default:"1s" placeholder:"TIME" group:"Bounds" help:"Bound of the first, random wait; it doubles each time (default ${default})."`
	RetryMaxTime   seconds `placeholder:"TIME" group:"Bounds" help:"Time for all attempts of a URL and the waits between (default 5 minutes more than the attempts may take); a Retry-After that goes beyond ends them."`

	JSON       bool   `name:"json" group:"Output" help:"A JSON object a line: url, status, bytes, timings, attempts, then where they apply final_url, location, file, error, not_done. Timings are in milliseconds: dns, connect, tls, wait (to the first byte) and transfer of the last attempt, total of all. After an interrupt the last object says where the input was left: not_started_from, line."`
	Out        string `placeholder:"DIR" group:"Output" help:"Save the bodies to files in this folder, named after the URLs."`
	Overwrite  bool   `group:"Output" help:"Replace files that exist; without it their URLs fail."`
	Silent     bool   `short:"s" group:"Output" help:"Show neither progress nor summary."`
	NoProgress bool   `group:"Output" help:"Show no progress."`
}

// Help is the text above the flags.
func (*Command) Help() string {
	return `Prints a line for each URL as it ends: status, size, time, URL, and for a failure why. A status of 400 and above is a
failure, as with curl -f. On a terminal the progress is shown on standard error; a summary is printed there at the end.

Ctrl-C stops, says what was not done, and exits; a second one exits at once.

Exit codes: 0 all done, 1 some failed, 2 not understood or not able to begin, 130 interrupted.`
}

// Streams are what a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// What Run returns when there is nothing left to say.
var (
	ErrFailed      = errors.New("some failed")
	ErrInterrupted = errors.New("interrupted")
)

// A UsageError is a command that makes no sense or cannot begin.
type UsageError struct{ Err error }

// Error says what is wrong.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong.
func (e *UsageError) Unwrap() error { return e.Err }

// check finds flags that kong cannot know to be wrong.
func (c *Command) check() error {
	switch {
	case c.Min < 1 || c.Max < c.Min:
		return errors.New("--min and --max: give two positive numbers, the smaller first")
	case c.PerHost < 0 || c.Retry < 0 || c.MaxRedirs < 0:
		return errors.New("--per-host, --retry and --max-redirs: give no negative number")
	case c.MaxTime <= 0 || c.ConnectTimeout <= 0:
		return errors.New("--max-time and --connect-timeout: give a positive time; nothing waits for ever")
	case c.Head && len(c.Data)+len(c.DataBinary) > 0:
		return errors.New("--head and --data: choose one, a check sends no body")
	case c.Head && c.Out != "":
		return errors.New("--head and --out: choose one, a check brings no body")
	case c.Head && c.Request != "" && c.Request != "HEAD":
		return errors.New("--head and --request: choose one")
	}
	return nil
}

// retryTime is the time for all attempts of a URL.
func (c *Command) retryTime() time.Duration {
	if c.RetryMaxTime > 0 {
		return time.Duration(c.RetryMaxTime)
	}
	attempts := min(c.Retry, 1000) + 1
	return 5*time.Minute + time.Duration(attempts)*min(time.Duration(c.MaxTime), 24*time.Hour)
}
