package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/settings"
	"github.com/meanwhile-go/meanwhile/internal/loopback"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/faktory"
	"github.com/meanwhile-go/meanwhile/metrics"
)

// mostPassword is the maximum length of the password for clients of Faktory, in bytes.
const mostPassword = 4096

// A faktoryPlan is the configuration for clients of Faktory; with an empty address they are not served.
type faktoryPlan struct {
	address, password string
	exposed           bool // jobs are sent over the network in the clear
}

const faktoryExposedText = "jobs of clients of Faktory go over the network as they are: give --tls-cert and --tls-key, or listen behind something that speaks TLS"

// planFaktory validates the settings for clients of Faktory.
func (c *Command) planFaktory() (p faktoryPlan, err error) {
	if c.Faktory == "" {
		if c.FaktoryPasswordFile != "" || c.FaktoryFlush {
			return p, errors.New("--faktory-password-file and --faktory-flush are for --faktory, which is not given")
		}
		return p, nil
	}
	host, err := settings.Address(c.Faktory, exampleFaktory)
	if err != nil {
		return p, fmt.Errorf("--faktory: %w", err)
	}
	p = faktoryPlan{address: c.Faktory, exposed: !loopback.IsHost(host)}
	if p.password, err = c.faktoryPassword(); err != nil {
		return p, err
	}
	if p.exposed && p.password == "" && !c.NoAuth {
		return p, fmt.Errorf("--faktory: others can reach %s: give --faktory-password-file or MEANWHILE_FAKTORY_PASSWORD, or --no-auth if everybody may use it", probe.Printable(c.Faktory))
	}
	return p, nil
}

// faktoryPassword reads the password. It is not a flag, which other users of the machine could see.
func (c *Command) faktoryPassword() (string, error) {
	password, from := strings.TrimSpace(os.Getenv("MEANWHILE_FAKTORY_PASSWORD")), "MEANWHILE_FAKTORY_PASSWORD"
	if c.FaktoryPasswordFile != "" {
		from = "--faktory-password-file"
		f, err := os.Open(c.FaktoryPasswordFile)
		if err != nil {
			return "", fmt.Errorf("%s: %w", from, err)
		}
		defer func() { _ = f.Close() }()
		text, err := io.ReadAll(io.LimitReader(f, mostPassword+1))
		if err != nil {
			return "", fmt.Errorf("%s: %w", from, err)
		}
		if password = strings.TrimSpace(string(text)); password == "" {
			return "", fmt.Errorf("%s: %s has no password", from, probe.Printable(c.FaktoryPasswordFile))
		}
	}
	switch n := len(password); {
	case n > mostPassword:
		return "", fmt.Errorf("%s: the password is longer than %d bytes", from, mostPassword)
	case n > 0 && n < faktory.LeastPassword:
		return "", fmt.Errorf("%s: the password has %d bytes: give one of at least %d", from, n, faktory.LeastPassword)
	}
	return password, nil
}

// faktoryURL returns the URL that clients are given, without the password.
func (p *plan) faktoryURL(address string) string {
	if p.certificate != nil {
		return "tcp+tls://" + probe.Printable(address)
	}
	return "tcp://" + probe.Printable(address)
}

// serveFaktory starts the server for clients of Faktory, whose attempts are counted in m.
func (p *plan) serveFaktory(ctx context.Context, listener net.Listener, store job.Store, m *metrics.Collector) error {
	config := faktory.Config{Store: store, Password: p.faktory.password, Flush: p.FaktoryFlush, Observe: m.Observe, Logger: p.logger}
	if p.certificate != nil {
		config.TLS = &tls.Config{GetCertificate: p.certificate.Get, MinVersion: tls.VersionTLS12}
	}
	server, err := faktory.New(config)
	if err != nil {
		return err
	}
	if p.faktory.exposed && p.certificate == nil {
		p.logger.Warn("serve: " + faktoryExposedText)
	}
	p.logger.Info("serving clients of Faktory on "+p.faktoryURL(listener.Addr().String()), "password", p.faktory.password != "")
	meanwhile.Go(ctx, func(ctx context.Context) error { return server.Serve(ctx, listener) }, meanwhile.Name("faktory"))
	return nil
}
