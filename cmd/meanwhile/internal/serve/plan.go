package serve

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/api"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/certificate"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/logs"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/settings"
	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/internal/access"
	"github.com/meanwhile-go/meanwhile/internal/loopback"
	"github.com/meanwhile-go/meanwhile/logs/remote"
	"github.com/meanwhile-go/meanwhile/metrics"
)

// healthPaths are accessible to everybody, for load balancers.
var healthPaths = []string{"/healthz", "/readyz"}

// logsTime is how long the log server may send nothing; a page gives up earlier.
const logsTime = 15 * time.Second

// A plan is a valid configuration.
type plan struct {
	*Command
	logger      *slog.Logger
	users       int
	local       bool // only this machine can reach the address
	guard       *access.Guard
	certificate *certificate.Certificate // nil without TLS
	records     *remote.Client           // nil unless the logs of another server are shown
	gathers     *logs.Part               // nil unless this is a log server itself
	faktory     faktoryPlan
	requests    *metrics.HTTP
}

// plan validates the settings.
func (c *Command) plan(logger *slog.Logger, streams probe.Streams) (*plan, error) {
	p := &plan{Command: c, logger: logger, requests: metrics.NewHTTP(partOf)}
	if err := c.Pool.Check(0); err != nil {
		return nil, err
	}
	if err := c.CheckStore(); err != nil {
		return nil, err
	}
	users, err := settings.Users(c.User, c.UserFile)
	if err != nil {
		return nil, err
	}
	p.users = len(users)
	tokens, err := settings.ParseAll[access.Token](c.Token)
	if err != nil {
		return nil, fmt.Errorf("--token: %w", err)
	}
	host, err := settings.Address(c.Listen, exampleListen)
	if err != nil {
		return nil, fmt.Errorf("--listen: %w", err)
	}
	p.local = loopback.IsHost(host)
	asks := len(users)+len(tokens) > 0
	switch {
	case asks && c.NoAuth:
		return nil, errors.New("--no-auth turns authentication off: leave it out, or the users and tokens")
	case !asks && !p.local && !c.NoAuth:
		return nil, fmt.Errorf("--listen: others can reach %s: add --user or --token, or --no-auth if everybody may use it", probe.Printable(c.Listen))
	}
	switch {
	case c.TLSCert != "" && c.TLSKey != "":
		if p.certificate, err = certificate.New(c.TLSCert, c.TLSKey, logger); err != nil {
			return nil, err
		}
	case c.TLSCert != "" || c.TLSKey != "":
		return nil, errors.New("--tls-cert and --tls-key: give both or none")
	}
	if p.faktory, err = c.planFaktory(); err != nil {
		return nil, err
	}
	if c.Logs != "" {
		from := logs.Source{
			Server: c.Logs, TokenFile: c.LogsTokenFile, CA: c.LogsCA, TLSCert: c.LogsTLSCert, TLSKey: c.LogsTLSKey, Timeout: logsTime, Of: "logs",
		}
		if p.records, err = from.Client(nil); err != nil {
			return nil, err
		}
	}
	if c.LogsDir+c.LogsConfig != "" {
		if c.Logs != "" {
			return nil, errors.New("--logs shows another server: leave it out, or --logs-dir and --logs-config")
		}
		if p.gathers, err = logs.NewPart(c.LogsDir, c.LogsConfig, logger, streams); err != nil {
			return nil, err
		}
	}
	if slices.Equal(c.Mask, []string{"none"}) {
		c.Mask = []string{}
	}
	hosts := c.Host
	if !asks || len(hosts) > 0 {
		hosts = append(slices.Clone(hosts), access.HostOf(host))
	}
	p.guard, err = access.New(access.Config{
		Users: users, Tokens: tokens, Local: p.local && !asks && !c.NoAuth, Hosts: hosts, Proxy: c.Proxy,
		Public: healthPaths, Personal: []string{dash.ThemePath}, ForWorkers: api.ForWorkers, Failed: p.requests.SignInFailed, Logger: logger,
	})
	return p, err
}

// url returns the URL to open.
func (p *plan) url(address string) string {
	if p.certificate != nil {
		return "https://" + probe.Printable(address)
	}
	return "http://" + probe.Printable(address)
}

// String describes the configuration, one setting per line.
func (p *plan) String() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("listen on %s", p.url(p.Listen))
	line("answer %s", p.audience())
	line("store %s", &p.Target)
	line("run %s", p.work())
	if p.faktory.address != "" {
		line("serve clients of Faktory on %s", p.faktoryURL(p.faktory.address))
	}
	if p.records != nil {
		line("show logs of %s", probe.Printable(p.records.String()))
	}
	if p.gathers != nil {
		for text := range strings.Lines(p.gathers.String()) {
			b.WriteString("logs: " + text)
		}
	}
	if p.exposed() {
		line("warning: %s", exposedText)
	}
	if p.faktory.exposed && p.certificate == nil {
		line("warning: %s", faktoryExposedText)
	}
	return b.String()
}

// audience describes who may use the server.
func (p *plan) audience() string {
	switch {
	case p.NoAuth:
		return "everybody"
	case !p.guard.Asks():
		return "this machine only"
	}
	return probe.Count(p.users, "user") + " and " + probe.Count(len(p.Token), "token")
}

func (p *plan) work() string {
	if p.Concurrency == 0 {
		return "no jobs"
	}
	return fmt.Sprintf("up to %s of %s at once", probe.Count(p.Concurrency, "job"), p.Queues())
}

// exposed reports whether passwords and tokens are sent unencrypted.
func (p *plan) exposed() bool { return !p.local && p.certificate == nil && !p.Proxy && p.guard.Asks() }

const exposedText = "passwords and tokens go over the network as they are: give --tls-cert and --tls-key, or --proxy behind a proxy that speaks TLS"
