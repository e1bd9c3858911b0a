package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/certificate"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/interrupt"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/logs/remote"
	"github.com/meanwhile-go/meanwhile/logs/segment"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// A Source has the flags for the server to search, filled in by kong.
type Source struct {
	Server    string        `group:"Server" env:"MEANWHILE_LOGS_SERVER" default:"http://127.0.0.1:6768" placeholder:"URL" help:"URL of the log server (default ${default})."`
	TokenFile string        `group:"Server" env:"MEANWHILE_LOGS_TOKEN_FILE" placeholder:"FILE" help:"File with the read token of the server. Without it, MEANWHILE_LOGS_TOKEN is the token."`
	CA        string        `group:"Server" name:"ca" env:"MEANWHILE_LOGS_CA" placeholder:"FILE" help:"Certificate authorities to trust, in PEM (default those of the system)."`
	TLSCert   string        `group:"Server" env:"MEANWHILE_LOGS_TLS_CERT" placeholder:"FILE" help:"Client certificate, in PEM."`
	TLSKey    string        `group:"Server" env:"MEANWHILE_LOGS_TLS_KEY" placeholder:"FILE" help:"Private key of the client certificate."`
	Timeout   time.Duration `group:"Server" default:"30s" placeholder:"TIME" help:"Give up when the server sends nothing for this long (default ${default})."`

	Of string `kong:"-"` // prefix of the flags in another command, such as logs for --logs and --logs-ca; default: the flags above
}

// A Place is a Source, or a folder.
type Place struct {
	Source
	Dir folder `group:"Server" placeholder:"DIR" help:"Read the folder of a log server that is not running, instead of asking a server."`
}

// A folder is the value of a flag with the name of a folder. It must not be empty: a script with an unset variable would search the server.
type folder string

// UnmarshalText parses the value.
func (f *folder) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return errors.New("it is empty: give a name, or leave the flag out")
	}
	*f = folder(text)
	return nil
}

// mostToken is the maximum length of a token in bytes.
const mostToken = 4096

// flag returns the name of a flag.
func (s *Source) flag(name string) string {
	switch {
	case s.Of == "":
		return "--" + name
	case name == "server":
		return "--" + s.Of
	}
	return "--" + s.Of + "-" + name
}

// Client returns a client of the server. It calls lost when following records has lost its connection.
func (s *Source) Client(lost func(error)) (*remote.Client, error) {
	if s.Timeout <= 0 {
		return nil, usage("%s: give a positive time", s.flag("timeout"))
	}
	token, err := s.token()
	if err != nil {
		return nil, err
	}
	config := remote.Config{Token: token, Timeout: s.Timeout, Lost: lost}
	if config.TLS, err = certificate.Client(s.CA, s.TLSCert, s.TLSKey, s.flag); err != nil {
		return nil, usage("%v", err)
	}
	client, err := remote.NewClient(s.Server, config)
	if err != nil {
		return nil, usage("%s: %v", s.flag("server"), err)
	}
	return client, nil
}

// token reads the token. It is not a flag, which other users of the machine could see.
func (s *Source) token() (string, error) {
	if s.TokenFile == "" {
		return strings.TrimSpace(os.Getenv("MEANWHILE_LOGS_TOKEN")), nil
	}
	f, err := os.Open(s.TokenFile)
	if err != nil {
		return "", usage("%s: %v", s.flag("token-file"), err)
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, mostToken+1))
	token := strings.TrimSpace(string(text))
	if err != nil || token == "" || len(text) > mostToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return "", usage("%s: %s has no token", s.flag("token-file"), safe(s.TokenFile))
	}
	return token, nil
}

// use calls fn with the finder of records. A signal cancels its ctx.
func (p *Place) use(streams probe.Streams, fn func(ctx context.Context, f storage.Finder) error) error {
	if p.Dir == "" {
		said := ""
		client, err := p.Client(func(err error) {
			if text := safe(err.Error()); text != said { // a server may be unavailable for hours
				said = text
				fmt.Fprintf(streams.Err, "meanwhile: %s; trying again\n", text)
			}
		})
		if err != nil {
			return err
		}
		defer func() { _ = client.Close() }()
		return absent(interrupt.Run("logs", func(ctx context.Context) error { return fn(ctx, client) }))
	}
	dir := string(p.Dir)
	if _, err := os.Stat(dir); err != nil {
		return usage("--dir: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "lock")); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return usage("--dir: no records are stored in %s: give the folder that meanwhile logs serve has as --dir", safe(dir))
	}
	return interrupt.Run("logs", func(ctx context.Context) error {
		store, err := segment.OpenReadOnly(dir, segment.Config{})
		if err != nil {
			return fmt.Errorf("--dir: %w", err)
		}
		return errors.Join(fn(ctx, store), store.Close())
	})
}

// absent adds to an error what to do if there is no server.
func absent(err error) error {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%w: start meanwhile logs serve, or give --server", err)
	}
	return err
}

func usage(format string, args ...any) error {
	return &probe.UsageError{Err: fmt.Errorf(format, args...)}
}
