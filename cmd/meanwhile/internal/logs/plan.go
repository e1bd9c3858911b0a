package logs

import (
	"crypto/tls"
	"crypto/x509"
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
	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/internal/access"
	"github.com/meanwhile-go/meanwhile/internal/loopback"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/analogger"
	"github.com/meanwhile-go/meanwhile/logs/jsonlines"
	"github.com/meanwhile-go/meanwhile/logs/syslog"
)

// A plan is settings that make sense.
type plan struct {
	*Serve
	logger      *slog.Logger
	streams     probe.Streams
	listeners   []logs.Listener
	certificate *certificate.Certificate // nil without TLS
	tls         *tls.Config
	reading     *access.Guard
	users       int
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
func (c *Serve) plan(logger *slog.Logger, streams probe.Streams) (*plan, error) {
	p := &plan{Serve: c, logger: logger, streams: streams}
	for _, step := range []func() error{p.readKey, p.readTLS, p.readReaders, p.readAnalogger, p.readKeep, p.readRoutes, p.readListeners} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	switch {
	case c.Dir == "":
		return nil, errors.New("--dir: give a folder")
	case c.MaxConns <= 0:
		return nil, errors.New("--max-conns: give a number above 0")
	case c.Interval <= 0:
		return nil, errors.New("--interval: give a time above 0")
	case c.Grace <= 0:
		return nil, errors.New("--grace: give a time above 0")
	}
	if err := checkMaxRecord(c.MaxRecord); err != nil {
		return nil, fmt.Errorf("--max-record: %w", err)
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
		return fmt.Errorf("--key-file: %s has no key in its first 4096 bytes", probe.Printable(p.KeyFile))
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
		return fmt.Errorf("--client-ca: %s has no certificate in PEM", probe.Printable(p.ClientCA))
	}
	return nil
}

// readReaders makes the guard of what is read.
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
	if asks && p.NoAuth {
		return errors.New("--no-auth lets everybody in: leave it out, or the users and tokens")
	}
	p.reading, err = access.New(access.Config{
		Users: users, Tokens: tokens, Local: !asks && !p.NoAuth, Hosts: p.hosts(asks), Personal: []string{dash.ThemePath}, Title: pageTitle, Logger: p.logger,
	})
	return err
}

// hosts returns the hosts that HTTP requests may ask for.
func (p *plan) hosts(asks bool) []string {
	host, _, err := net.SplitHostPort(p.HTTP)
	if err != nil || asks && len(p.Host) == 0 {
		return p.Host
	}
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
		return 0, fmt.Errorf("%.40q is no time such as 12h or 30d", text)
	}
	return keep, nil
}

func keepSize(text string) (int64, error) {
	keep, err := bytes(text)
	if err != nil {
		return 0, fmt.Errorf("%.40q is no size such as 500MB or 10GiB", text)
	}
	return keep, nil
}

const mostRecord = logs.MaxRecord - 1024 // beside the message there is more in a record

func checkMaxRecord(bytes int) error {
	if bytes < 64 || bytes > mostRecord {
		return fmt.Errorf("give a number of bytes from 64 to %d", mostRecord)
	}
	return nil
}

// check says what is wrong with the value of a key of the file, so that it is told with its line. What it does not know is
// told without one.
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
	case "max-record":
		err = checkMaxRecord(value.(int))
	case "to":
		for _, text := range value.([]string) {
			if _, err = c.routes.place(text); err != nil {
				break
			}
		}
	case nameListen, nameHTTP, "analogger", "syslog-tcp", "syslog-udp", "syslog-tls", "json":
		if text := value.(string); text != "" {
			err = address(text)
		}
	}
	return err
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
	p.routes.fall(p.fallback)
	return nil
}

// fall adds the route of what no other names, but for the places where a route of the file brings all of it: else that could not
// count repeats there.
func (r *routeSettings) fall(back logs.Route) {
	to := slices.Clone(back.To)
	for _, route := range r.routes {
		if route.Services == nil && route.Level == nil && route.Words == nil {
			to = slices.DeleteFunc(to, func(d logs.Destination) bool {
				return slices.ContainsFunc(route.To, func(other logs.Destination) bool { return reflect.DeepEqual(d, other) })
			})
		}
	}
	if back.To = to; len(to) > 0 {
		r.routes = append(r.routes, back)
	}
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
	again.fall(fallback)
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
			asked = p.reading.Asks() && p.Key != ""
		}
		if !loopback.IsHost(host) && !asked && !p.NoAuth {
			remedy := "give --client-ca and TLS, or --no-auth if everybody may"
			switch {
			case l.flag == nameHTTP:
				remedy = "give --user or --token for who may read and --key for who may write, or --no-auth if everybody may do both"
			case l.asks:
				remedy = "give --key, or --client-ca and TLS, or --no-auth if everybody may"
			}
			return fmt.Errorf("--%s: others can reach %s: %s", l.flag, probe.Printable(l.address), remedy)
		}
		l.listener.Name, l.listener.Address = l.flag, l.address
		for _, other := range p.listeners {
			if other.Address == l.address && (other.Network == l.listener.Network) && !strings.HasSuffix(l.address, ":0") {
				return fmt.Errorf("--%s: --%s has %s already: give another port", l.flag, other.Name, probe.Printable(l.address))
			}
		}
		p.listeners = append(p.listeners, l.listener)
	}
	return nil
}

func address(text string) error {
	_, port, err := net.SplitHostPort(text)
	if err != nil || port == "" {
		return fmt.Errorf("%.100q is no address such as 127.0.0.1:6767", text)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return fmt.Errorf("%.100q has no port: give a number up to 65535", text)
	}
	return nil
}
