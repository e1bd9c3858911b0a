// Package fetch is the command "meanwhile fetch".
package fetch

import (
	"errors"
	"io"
	"time"
)

// A Command has the flags and arguments of "meanwhile fetch", filled in by kong.
type Command struct {
	URLs []string `arg:"" optional:"" name:"url" help:"URLs to fetch. example.com/x stands for http://example.com/x."`
	From path     `placeholder:"FILE" help:"Read URLs from this file, one a line; - is standard input, which is also read when no URL is given. Empty lines and lines that begin with # are skipped."`

	Limit       limit   `short:"n" default:"64" placeholder:"N|auto" group:"Concurrency and rate" help:"Run up to N at once (default ${default}); auto adapts N to the capacity of the servers."`
	Min         int     `default:"4" placeholder:"N" group:"Concurrency and rate" help:"Lowest limit of -n auto (default ${default})."`
	Max         int     `default:"512" placeholder:"N" group:"Concurrency and rate" help:"Highest limit of -n auto (default ${default})."`
	Compare     []limit `placeholder:"N,N,auto" group:"Concurrency and rate" help:"Fetch all URLs with each of these limits, round after round, and print a comparison."`
	Rounds      int     `default:"3" placeholder:"N" group:"Concurrency and rate" help:"Rounds of --compare (default ${default})."`
	PerHost     int     `placeholder:"N" group:"Concurrency and rate" help:"Run up to N at once for each host. Up to 1,024 URLs of hosts at their limit are skipped to find others."`
	Rate        rate    `placeholder:"N/s" group:"Concurrency and rate" help:"Rate limit on requests: 50/s, 100/m or 1000/h; retries count."`
	PerHostRate rate    `placeholder:"N/s" group:"Concurrency and rate" help:"Rate limit for each host. The state of the 10,000 most recent hosts is kept."`

	Request    string   `short:"X" placeholder:"METHOD" group:"Request" help:"Method (default GET; POST with a body; HEAD with --head)."`
	Header     []string `short:"H" sep:"none" placeholder:"LINE" group:"Request" help:"Send this header, as \"Name: value\"; \"Name:\" removes a default one. Repeatable."`
	Data       []string `short:"d" sep:"none" placeholder:"DATA" group:"Request" help:"Send this body, or with @FILE the contents of a file without its line breaks. Several are joined by &."`
	DataBinary []string `sep:"none" placeholder:"DATA" group:"Request" help:"Like --data, but a file is sent unchanged."`
	UserAgent  string   `short:"A" placeholder:"NAME" group:"Request" help:"Value of the User-Agent header."`
	Head       bool     `short:"I" group:"Request" help:"Request only the headers."`
	Location   bool     `short:"L" group:"Request" help:"Follow redirects; without it a 3xx counts as a success."`
	MaxRedirs  int      `default:"50" placeholder:"N" group:"Request" help:"Follow at most N redirects (default ${default})."`
	Compressed bool     `group:"Request" help:"Request a compressed response and decompress it."`
	Insecure   bool     `short:"k" group:"Request" help:"Skip verification of TLS certificates."`

	MaxTime        seconds `short:"m" default:"30s" placeholder:"TIME" group:"Timeouts, size and retries" help:"Timeout of each attempt, in seconds or as 1m30s (default ${default})."`
	ConnectTimeout seconds `default:"10s" placeholder:"TIME" group:"Timeouts, size and retries" help:"Timeout of each connection attempt (default ${default})."`
	MaxBytes       size    `default:"100M" placeholder:"SIZE" aliases:"max-filesize" group:"Timeouts, size and retries" help:"Maximum size of a body; a longer one fails. k, M and G are powers of 1024 (default ${default})."`
	Retry          int     `placeholder:"N" group:"Timeouts, size and retries" help:"Retry up to N times after 408, 429, 5xx, timeouts and connection errors, for any method. Retry-After is honored."`
	RetryDelay     seconds `default:"1s" placeholder:"TIME" group:"Timeouts, size and retries" help:"Maximum of the first backoff, which is random; it doubles each time (default ${default})."`
	RetryMaxTime   seconds `placeholder:"TIME" group:"Timeouts, size and retries" help:"Timeout of all attempts of a URL and the waits between (default 5 minutes more than the attempts may take); a later Retry-After ends the retries."`

	JSON       bool `name:"json" group:"Output" help:"Print one JSON object per line: url, its place in the input (from, line), status, bytes, timings, attempts, and where they apply final_url, location, file, error, not_done. Timings are in milliseconds: dns, connect, tls, wait (to the first byte) and transfer of the last attempt, and total of all attempts. After an interrupt the last object has the place in the input where it stopped: not_started_from, line."`
	Out        path `placeholder:"DIR" group:"Output" help:"Save the bodies to files in this folder, named after the URLs."`
	Overwrite  bool `group:"Output" help:"Replace files that exist; without it their URLs fail."`
	Silent     bool `short:"s" group:"Output" help:"Show neither progress nor summary."`
	NoProgress bool `group:"Output" help:"Show no progress."`
}

// Help is the text above the flags.
func (*Command) Help() string {
	return `Prints a line for each URL when it is finished: status, size, time, URL, and the reason of a failure. A status of 400 or
above is a failure, as with curl -f. On a terminal, progress is shown on standard error; a summary follows at the end.

Ctrl-C stops, reports the unfinished URLs, and exits; a second one exits immediately.

--compare 1,8,64,auto prints one table instead: the time of a round, requests per second and request times for each limit, and
the limit above which more is not worth it. It fetches each URL once per limit in each round.

Exit codes: 0 all done, 1 some failed, 2 usage error or not able to start, 130 interrupted.`
}

// Streams are the input and output of a command.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Errors of Run when there is nothing left to report.
var (
	ErrFailed      = errors.New("some failed")
	ErrInterrupted = errors.New("interrupted")
)

// A UsageError is the error of a command with invalid arguments, or one that cannot start.
type UsageError struct{ Err error }

// Error returns the text of Err.
func (e *UsageError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *UsageError) Unwrap() error { return e.Err }

// check reports invalid flags that kong cannot detect.
func (c *Command) check() error {
	switch {
	case c.Min < 1 || c.Max < c.Min:
		return errors.New("--min and --max: give two positive numbers, the smaller first")
	case c.PerHost < 0 || c.Retry < 0 || c.MaxRedirs < 0:
		return errors.New("--per-host, --retry and --max-redirs: give no negative number")
	case c.MaxTime <= 0 || c.ConnectTimeout <= 0:
		return errors.New("--max-time and --connect-timeout: give a positive time; waiting forever is not supported")
	case c.Head && len(c.Data)+len(c.DataBinary) > 0:
		return errors.New("--head and --data: choose one, a HEAD request sends no body")
	case c.Head && c.Out != "":
		return errors.New("--head and --out: choose one, a HEAD response has no body")
	case c.Head && c.Request != "" && c.Request != "HEAD":
		return errors.New("--head and --request: choose one")
	}
	return c.checkCompare()
}

// retryTime returns the time limit for all attempts of a URL.
func (c *Command) retryTime() time.Duration {
	if c.RetryMaxTime > 0 {
		return time.Duration(c.RetryMaxTime)
	}
	attempts := min(c.Retry, 1000) + 1
	return 5*time.Minute + time.Duration(attempts)*min(time.Duration(c.MaxTime), 24*time.Hour)
}
