package logs

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/certificate"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/settings"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/work"
	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/internal/access"
	"github.com/meanwhile-go/meanwhile/job/httprequest"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/forward"
	"github.com/meanwhile-go/meanwhile/logs/server"
)

// A plan is a valid configuration.
type plan struct {
	*Serve
	logger      *slog.Logger
	streams     probe.Streams
	listeners   []server.Listener
	certificate *certificate.Certificate    // nil without TLS
	settings    map[string]*listenerSetting // of the listeners, by name
	warnings    []string                    // about settings that are valid, but not safe
	reading     *access.Guard
	users       int
	keepAge     time.Duration
	keepSize    int64
	syncEvery   time.Duration // 0: the interval
	fallback    server.Route  // for records without a route in the file
	running     atomic.Pointer[server.Server]
	changed     atomic.Pointer[routeSettings] // settings that were read again after HUP; nil before that
	webhooks    *webhooks
	forwarders  atomic.Pointer[map[string]*forward.Forwarder] // by name
}

// plan validates the settings.
func (c *Serve) plan(logger *slog.Logger, streams probe.Streams) (*plan, error) {
	p := &plan{Serve: c, logger: logger, streams: streams}
	for _, step := range []func() error{p.readKey, p.readTLS, p.readAnalogger, p.readAddresses, p.readReaders, p.readKeep, p.readRoutes, p.readListeners, p.readWebhooks} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	for _, one := range []struct {
		name  string
		value any
	}{{"dir", c.Dir}, {"max-conns", c.MaxConns}, {"interval", c.Interval}, {"grace", c.Grace}, {"max-record", c.MaxRecord}} {
		if err := c.check(one.name, one.value); err != nil {
			return nil, fmt.Errorf("--%s: %w", one.name, err)
		}
	}
	if len(p.listeners) == 0 {
		return nil, errors.New("no input is configured: give --listen, --analogger or another address")
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
	key, err := readKeyFile(p.KeyFile)
	if err != nil {
		return fmt.Errorf("--key-file: %w", err)
	}
	p.Key = key
	return nil
}

func readKeyFile(name string) (string, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	key := strings.TrimRight(string(text), "\r\n")
	if key == "" || len(key) > 4096 {
		return "", fmt.Errorf("%s has no key in its first 4096 bytes", probe.Printable(name))
	}
	return key, nil
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
	return nil
}

// readReaders creates the guard for readers.
func (p *plan) readReaders() error {
	users, err := settings.Users(p.User, p.UserFile)
	if err != nil {
		return err
	}
	p.users = len(users)
	tokens, err := settings.ParseAll[access.Token](p.Token)
	if err != nil {
		return fmt.Errorf("--token: %w", err)
	}
	asks := len(users)+len(tokens) > 0
	if http := p.settings[nameHTTP]; asks && (p.NoAuth || http != nil && http.authOff) {
		return errors.New("--no-auth turns authentication off: leave it out, or the users and tokens; for one input alone, put auth=off after the address, as in --syslog-udp '0.0.0.0:514?auth=off'")
	}
	open, err := p.openHTTP()
	if err != nil {
		return err
	}
	p.reading, err = access.New(access.Config{
		Users: users, Tokens: tokens, Local: !asks && !open, Hosts: p.hosts(asks), Personal: []string{dash.ThemePath}, Title: pageTitle, Logger: p.logger,
	})
	return err
}

// hosts returns the names that the Host header of HTTP requests may have.
func (p *plan) hosts(asks bool) []string {
	http := p.settings[nameHTTP]
	if http == nil || asks && len(p.Host) == 0 {
		return p.Host
	}
	host, _, _ := net.SplitHostPort(http.address)
	return append(slices.Clone(p.Host), access.HostOf(host))
}

func (p *plan) readKeep() (err error) {
	if p.keepAge, err = keepAge(p.KeepAge); err != nil {
		return fmt.Errorf("--keep-age: %w", err)
	}
	if p.keepSize, err = keepSize(p.KeepSize); err != nil {
		return fmt.Errorf("--keep-size: %w", err)
	}
	return nil
}

func keepAge(text string) (time.Duration, error) {
	keep, err := age(text)
	if err != nil || keep < 0 {
		return 0, fmt.Errorf("%.40q is not a time such as 12h or 30d", text)
	}
	return keep, nil
}

func keepSize(text string) (int64, error) {
	keep, err := bytes(text)
	if err != nil {
		return 0, fmt.Errorf("%.40q is not a size such as 500MB or 10GiB", text)
	}
	return keep, nil
}

const mostRecord = logs.MaxRecord - 1024 // a record has more than the message

// check validates the value of a flag, or of a key in the file, whose errors have its line number. Other errors are reported without one.
func (c *Serve) check(key string, value any) (err error) {
	switch key {
	case "user":
		_, err = settings.ParseAll[access.User](value.([]string))
	case "token":
		_, err = settings.ParseAll[access.Token](value.([]string))
	case "keep-age":
		_, err = keepAge(value.(string))
	case "keep-size":
		_, err = keepSize(value.(string))
	case "key-file":
		if name := value.(string); name != "" {
			_, err = readKeyFile(name)
		}
	case "dir":
		if value.(string) == "" {
			err = errors.New("give a folder")
		}
	case "interval", "grace":
		if value.(time.Duration) <= 0 {
			err = errors.New("give a time above 0")
		}
	case "max-conns":
		if value.(int) <= 0 {
			err = errors.New("give a number above 0")
		}
	case "max-record":
		if bytes := value.(int); bytes < 64 || bytes > mostRecord {
			err = fmt.Errorf("give a number of bytes from 64 to %d", mostRecord)
		}
	case "to":
		for _, text := range value.([]string) {
			if _, err = c.routes.parseDestination(text); err != nil {
				break
			}
		}
	case nameListen, nameHTTP, nameAnalogger, nameSyslogTCP, nameSyslogUDP, nameSyslogTLS, nameJSON:
		if text := value.(string); text != "" {
			_, err = parseListener(key, text)
		}
	}
	return err
}

// readRoutes adds the routes of the flags to those of the files.
func (p *plan) readRoutes() error {
	if len(p.fallback.To) == 0 {
		p.fallback.Dedupe = p.Dedupe
		for _, text := range p.To {
			to, err := p.routes.parseDestination(text)
			if err != nil {
				return fmt.Errorf("--to: %w", err)
			}
			p.fallback.To = append(p.fallback.To, to)
		}
	}
	p.routes.fall(p.fallback)
	return nil
}

// readWebhooks creates the caller of alert webhooks.
func (p *plan) readWebhooks() error {
	key, err := work.SigningKey(p.WebhookKeyFile)
	if err != nil {
		return err
	}
	p.webhooks = newWebhooks(httprequest.Config{AllowPrivate: p.AllowPrivate, SigningKey: key}, p.Grace, p.logger)
	return nil
}

// fall adds the route for records without another route. It leaves out destinations to which a route of the file already sends
// all records: there the added route could not count repeats.
func (r *routeSettings) fall(back server.Route) {
	to := slices.Clone(back.To)
	for _, route := range r.routes {
		if route.Services == nil && route.Level == nil && route.Words == nil {
			to = slices.DeleteFunc(to, func(d server.Destination) bool {
				return slices.ContainsFunc(route.To, func(other server.Destination) bool { return reflect.DeepEqual(d, other) })
			})
		}
	}
	if back.To = to; len(to) > 0 {
		r.routes = append(r.routes, back)
	}
}

// reread reads the routes and limits in the files again.
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
	again.fall(fallback)
	if !p.stores() && again.stores() {
		return nil, errors.New("a route leads to the store, which is not open: restart the program, for example with USR2")
	}
	return &again, nil
}

// stores reports whether a route leads to the store.
func (p *plan) stores() bool { return p.routes.stores() }

func (r *routeSettings) stores() bool {
	return slices.ContainsFunc(r.routes, func(r server.Route) bool {
		return slices.ContainsFunc(r.To, func(to server.Destination) bool { return to.Store })
	})
}
