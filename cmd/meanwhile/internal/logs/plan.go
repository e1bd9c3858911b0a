package logs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/certificate"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/inspect"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/settings"
	"github.com/meanwhile-go/meanwhile/internal/access"
	"github.com/meanwhile-go/meanwhile/internal/loopback"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/analogger"
	"github.com/meanwhile-go/meanwhile/logs/jsonlines"
	"github.com/meanwhile-go/meanwhile/logs/segment"
	"github.com/meanwhile-go/meanwhile/logs/syslog"
)

// A plan is settings that make sense.
type plan struct {
	*Serve
	logger      *slog.Logger
	streams     inspect.Streams
	listeners   []logs.Listener
	certificate *certificate.Certificate // nil without TLS
	tls         *tls.Config
	tokens      []access.Token
	keepAge     time.Duration
	keepSize    int64
	syncEvery   time.Duration // 0: the interval
	fallback    logs.Route    // of what the file says nothing
	running     atomic.Pointer[logs.Server]
	forwarders  atomic.Pointer[map[string]*logs.Forwarder] // by their names
}

// Names of listeners, which are those of their flags.
const (
	nameListen = "listen"
	nameHTTP   = "http"
)

// plan checks the settings.
func (c *Serve) plan(logger *slog.Logger, streams inspect.Streams) (*plan, error) {
	p := &plan{Serve: c, logger: logger, streams: streams}
	for _, step := range []func() error{p.readKey, p.readTLS, p.readTokens, p.readAnalogger, p.readKeep, p.readRoutes, p.readListeners} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	if c.MaxConns <= 0 {
		return nil, errors.New("--max-conns: give a number above 0")
	}
	if c.Interval <= 0 || c.Grace <= 0 {
		return nil, errors.New("--interval and --grace: give a time above 0")
	}
	if len(p.listeners) == 0 {
		return nil, errors.New("nothing comes in: give --listen, --analogger or another address")
	}
	return p, nil
}

func (p *plan) readKey() error {
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
	if p.Key = strings.TrimRight(string(text), "\r\n"); p.Key == "" || len(p.Key) > 4096 {
		return fmt.Errorf("--key-file: %s has no key in its first 4096 bytes", inspect.Printable(p.KeyFile))
	}
	return nil
}

func (p *plan) readTLS() (err error) {
	switch {
	case p.TLSCert == "" && p.TLSKey == "" && p.ClientCA != "":
		return errors.New("--client-ca: it needs --tls-cert and --tls-key")
	case p.TLSCert == "" && p.TLSKey == "":
		return nil
	case p.TLSCert == "" || p.TLSKey == "":
		return errors.New("--tls-cert and --tls-key: give both or none")
	}
	if p.certificate, err = certificate.New(p.TLSCert, p.TLSKey, p.logger); err != nil {
		return err
	}
	p.tls = &tls.Config{GetCertificate: p.certificate.Get, MinVersion: tls.VersionTLS12}
	if p.ClientCA == "" {
		return nil
	}
	text, err := os.ReadFile(p.ClientCA)
	if err != nil {
		return fmt.Errorf("--client-ca: %w", err)
	}
	p.tls.ClientCAs, p.tls.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !p.tls.ClientCAs.AppendCertsFromPEM(text) {
		return fmt.Errorf("--client-ca: %s has no certificate in PEM", inspect.Printable(p.ClientCA))
	}
	return nil
}

func (p *plan) readTokens() (err error) {
	if p.tokens, err = settings.ParseAll[access.Token](p.Token); err != nil {
		return fmt.Errorf("--token: %w", err)
	}
	if len(p.tokens) > 0 && p.Open {
		return errors.New("--open lets everybody in: leave it out, or the tokens")
	}
	return nil
}

func (p *plan) readKeep() (err error) {
	if p.keepAge, err = age(p.KeepAge); err != nil || p.keepAge < 0 {
		return fmt.Errorf("--keep-age: %.40q is no time such as 12h or 30d", p.KeepAge)
	}
	if p.keepSize, err = bytes(p.KeepSize); err != nil {
		return fmt.Errorf("--keep-size: %.40q is no size such as 500MB or 10GiB", p.KeepSize)
	}
	return nil
}

// readRoutes adds what the flags say to the routes of the files.
func (p *plan) readRoutes() error {
	if len(p.fallback.To) == 0 {
		p.fallback.Cull = p.Cull
		for _, text := range p.To {
			to, err := p.routes.place(text)
			if err != nil {
				return fmt.Errorf("--to: %w", err)
			}
			p.fallback.To = append(p.fallback.To, to)
		}
	}
	p.routes.routes = append(p.routes.routes, p.fallback)
	return nil
}

// reread reads the routes and limits of the files again.
func (p *plan) reread() (*routeSettings, error) {
	var again routeSettings
	if p.Config != "" {
		if _, err := again.file().Read(p.Config, p.flags); err != nil {
			return nil, err
		}
	}
	fallback := p.fallback
	if p.AnaloggerConfig != "" {
		c, err := readAnaloggerConfig(p.AnaloggerConfig)
		if err != nil {
			return nil, err
		}
		again.routes = append(again.routes, analoggerRoutes(c)...)
		fallback = analoggerFallback(c)
	}
	again.routes = append(again.routes, fallback)
	if !p.stores() && again.stores() {
		return nil, errors.New("a route leads to the store, which the program does not have open: restart it, as USR2 does")
	}
	return &again, nil
}

// stores reports whether a route leads to the store.
func (p *plan) stores() bool { return p.routes.stores() }

func (r *routeSettings) stores() bool {
	return slices.ContainsFunc(r.routes, func(r logs.Route) bool {
		return slices.ContainsFunc(r.To, func(to logs.Destination) bool { return to.Store })
	})
}

// readListeners makes the listeners, and wants those that others can reach to ask who comes.
func (p *plan) readListeners() error {
	for _, l := range []struct {
		flag, address string
		listener      logs.Listener
		asks          bool // for the key
	}{
		{nameListen, p.Listen, logs.Listener{TLS: p.tls}, true},
		{nameHTTP, p.HTTP, logs.Listener{TLS: p.tls}, false},
		{"analogger", p.Analogger, logs.Listener{Way: &analogger.Way{Key: p.Key}, TLS: p.tls}, true},
		{"syslog-tcp", p.SyslogTCP, logs.Listener{Way: &syslog.Way{}}, false},
		{"syslog-udp", p.SyslogUDP, logs.Listener{Way: &syslog.Way{Datagrams: true}, Network: "udp"}, false},
		{"json", p.JSON, logs.Listener{Way: &jsonlines.Way{}, TLS: p.tls}, false},
		{"syslog-tls", p.SyslogTLS, logs.Listener{Way: &syslog.Way{}, TLS: p.tls}, false},
	} {
		if l.address == "" {
			continue
		}
		if err := address(l.address); err != nil {
			return fmt.Errorf("--%s: %w", l.flag, err)
		}
		if l.flag == "syslog-tls" && p.tls == nil {
			return errors.New("--syslog-tls: it needs --tls-cert and --tls-key")
		}
		host, _, _ := net.SplitHostPort(l.address)
		asked := l.asks && p.Key != "" || l.listener.TLS != nil && p.ClientCA != ""
		if l.flag == nameHTTP {
			asked = len(p.tokens) > 0 && p.Key != ""
		}
		if !loopback.IsHost(host) && !asked && !p.Open {
			remedy := "give --client-ca and TLS, or --open if everybody may"
			switch {
			case l.flag == nameHTTP:
				remedy = "give --token for who may read and --key for who may write, or --open if everybody may do both"
			case l.asks:
				remedy = "give --key, or --client-ca and TLS, or --open if everybody may"
			}
			return fmt.Errorf("--%s: others can reach %s: %s", l.flag, inspect.Printable(l.address), remedy)
		}
		l.listener.Name, l.listener.Address = l.flag, l.address
		p.listeners = append(p.listeners, l.listener)
	}
	return nil
}

func address(text string) error {
	if _, port, err := net.SplitHostPort(text); err != nil || port == "" {
		return fmt.Errorf("%.100q is no address such as 127.0.0.1:6767", text)
	}
	return nil
}

// String says what would be done, a thing a line.
func (p *plan) String() string {
	var b strings.Builder
	for _, l := range p.listeners {
		fmt.Fprintf(&b, "listen on %s for %s\n", inspect.Printable(l.Address), l.Name)
	}
	if p.stores() {
		fmt.Fprintf(&b, "keep in %s\n", inspect.Printable(p.Dir))
		for _, name := range slices.Sorted(maps.Keys(p.routes.keep)) {
			fmt.Fprintf(&b, "keep of %s %s\n", inspect.Printable(name), keepText(p.routes.keep[name]))
		}
	}
	for _, r := range p.routes.routes {
		fmt.Fprintf(&b, "route %s\n", inspect.Printable(routeText(r)))
	}
	for _, o := range p.routes.onward {
		fmt.Fprintf(&b, "forward to %s\n", inspect.Printable(o.output.Name))
	}
	fmt.Fprintf(&b, "sync %s\n", p.Sync)
	return b.String()
}

// keepText says what is kept of a service, where that is said.
func keepText(keep segment.Retention) string {
	var said []string
	switch {
	case keep.Age > 0:
		said = append(said, fmt.Sprintf("for %v", keep.Age))
	case keep.Age < 0:
		said = append(said, "for ever")
	}
	switch {
	case keep.Bytes > 0:
		said = append(said, fmt.Sprintf("up to %d bytes", keep.Bytes))
	case keep.Bytes < 0:
		said = append(said, "of any size")
	}
	return strings.Join(said, ", ")
}

// routeText says what a route does.
func routeText(r logs.Route) string {
	text := "all else"
	if len(r.Services) > 0 {
		text = strings.Join(r.Services, ", ")
	}
	if r.Level != nil {
		text += " from " + strings.ToLower(r.Level.Level().String()) + " on"
	}
	if r.Words != nil {
		text += " of " + strings.Join(r.Words, ", ")
	}
	var to []string
	for _, d := range r.To {
		switch {
		case d.Store:
			to = append(to, "store")
		case d.File != nil:
			to = append(to, "file:"+d.File.Path)
		case d.Socket != "":
			to = append(to, "socket:"+d.Socket)
		default:
			to = append(to, map[bool]string{true: "stdout", false: "stderr"}[d.Writer == os.Stdout])
		}
	}
	text += " to " + strings.Join(to, ", ")
	if r.Cull {
		text += ", repeats counted"
	}
	return text
}
