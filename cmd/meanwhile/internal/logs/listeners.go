package logs

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/settings"
	"github.com/meanwhile-go/meanwhile/internal/loopback"
	"github.com/meanwhile-go/meanwhile/logs/analogger"
	"github.com/meanwhile-go/meanwhile/logs/jsonlines"
	"github.com/meanwhile-go/meanwhile/logs/server"
	"github.com/meanwhile-go/meanwhile/logs/syslog"
)

// Names of listeners, which are the names of their flags.
const (
	nameListen    = "listen"
	nameHTTP      = "http"
	nameAnalogger = "analogger"
	nameSyslogTCP = "syslog-tcp"
	nameSyslogUDP = "syslog-udp"
	nameSyslogTLS = "syslog-tls"
	nameJSON      = "json"
)

// listenerNames has the names in the order in which listeners are reported.
var listenerNames = []string{nameListen, nameHTTP, nameAnalogger, nameSyslogTCP, nameSyslogUDP, nameJSON, nameSyslogTLS}

// A listenerSetting is the value of such a flag: HOST:PORT, and options for this listener alone, as in "?allow=10.0.0.0/8&tls=on".
type listenerSetting struct {
	address  string
	allow    []netip.Prefix
	tls      string // on, off; empty: the default of the listener
	clientCA string // a file, or off; empty: --client-ca
	keyFile  string // empty: --key
	authOff  bool
}

const (
	off            = "off"
	exampleAddress = "127.0.0.1:6767"
)

// parseListener parses the value of the flag with a name.
func parseListener(name, text string) (s listenerSetting, err error) {
	text, query, _ := strings.Cut(text, "?")
	s.address = text
	if _, err := settings.Address(text, exampleAddress); err != nil {
		return s, err
	}
	options, err := url.ParseQuery(query)
	if err != nil {
		return s, fmt.Errorf("%.100q: write options as ?allow=10.0.0.0/8&auth=off", query)
	}
	for option, values := range options {
		if err := s.set(name, option, values[len(values)-1]); err != nil {
			return s, err
		}
		if len(values) > 1 {
			return s, fmt.Errorf("the option %s is given twice", option)
		}
	}
	return s, nil
}

// set parses one option.
func (s *listenerSetting) set(name, option, value string) (err error) {
	known := optionsOf(name)
	switch {
	case !slices.Contains(known, option):
		return fmt.Errorf("it has no option %.40q: there are %s", option, strings.Join(known, ", "))
	case value == "":
		return fmt.Errorf("the option %s has no value", option)
	}
	switch option {
	case "allow":
		s.allow, err = networks(value)
	case "tls":
		if s.tls = value; value != "on" && value != off {
			err = fmt.Errorf("tls is on or off, not %.40q", value)
		}
	case "client-ca":
		s.clientCA = value
	case "key-file":
		s.keyFile = value
	case "auth":
		if s.authOff = value == off; !s.authOff {
			err = fmt.Errorf("auth may be off, not %.40q", value)
		}
	}
	return err
}

// optionsOf returns the options of a listener, sorted.
func optionsOf(name string) []string {
	switch name {
	case nameSyslogTCP, nameSyslogUDP:
		return []string{"allow", "auth"}
	case nameSyslogTLS:
		return []string{"allow", "auth", "client-ca"}
	case nameJSON:
		return []string{"allow", "auth", "client-ca", "tls"}
	}
	return []string{"allow", "auth", "client-ca", "key-file", "tls"}
}

// networks parses networks and addresses separated by commas.
func networks(text string) (all []netip.Prefix, err error) {
	for one := range strings.SplitSeq(text, ",") {
		n, err := netip.ParsePrefix(one)
		if err != nil {
			a, err := netip.ParseAddr(one)
			if err != nil {
				return nil, fmt.Errorf("allow: %.60q is not a network such as 192.168.0.0/16, nor an address", one)
			}
			n = netip.PrefixFrom(a, a.BitLen())
		}
		all = append(all, n.Masked())
	}
	return all, nil
}

func (c *Serve) addresses() map[string]string {
	return map[string]string{
		nameListen: c.Listen, nameHTTP: c.HTTP, nameAnalogger: c.Analogger, nameJSON: c.JSON,
		nameSyslogTCP: c.SyslogTCP, nameSyslogUDP: c.SyslogUDP, nameSyslogTLS: c.SyslogTLS,
	}
}

// readAddresses parses the flags of the listeners.
func (p *plan) readAddresses() error {
	p.settings = map[string]*listenerSetting{}
	addresses := p.addresses()
	for _, name := range listenerNames {
		if addresses[name] == "" {
			continue
		}
		s, err := parseListener(name, addresses[name])
		if err != nil {
			return fmt.Errorf("--%s: %w", name, err)
		}
		if s.authOff && s.keyFile != "" {
			return fmt.Errorf("--%s: auth=off turns the key off: leave it out, or key-file", name)
		}
		p.settings[name] = &s
	}
	return nil
}

// readListeners creates the listeners. Listeners that other machines can reach must authenticate their clients or restrict their addresses.
func (p *plan) readListeners() error {
	for _, name := range listenerNames {
		s := p.settings[name]
		if s == nil {
			continue
		}
		l := server.Listener{Name: name, Address: s.address, Allow: s.allow}
		key, err := p.keyOf(name)
		if err == nil {
			l.TLS, err = p.tlsOf(name)
		}
		if err != nil {
			return fmt.Errorf("--%s: %w", name, err)
		}
		switch name {
		case nameAnalogger:
			l.Protocol = &analogger.Protocol{Key: key}
		case nameSyslogUDP:
			l.Protocol, l.Network = &syslog.Protocol{Datagrams: true}, "udp"
		case nameSyslogTCP, nameSyslogTLS:
			l.Protocol = &syslog.Protocol{}
		case nameJSON:
			l.Protocol = &jsonlines.Protocol{}
		}
		host, _, _ := net.SplitHostPort(s.address)
		switch {
		case loopback.IsHost(host):
		case !p.NoAuth && !s.authOff && !p.asks(&l, key):
			return fmt.Errorf("--%s: others can reach %s: %s", name, probe.Printable(s.address), remedy(&l, p))
		case key != "" && l.TLS == nil && s.tls != off:
			p.warnings = append(p.warnings, p.exposedText(name))
		}
		for _, other := range p.listeners {
			if other.Address == l.Address && other.Network == l.Network && !strings.HasSuffix(l.Address, ":0") {
				return fmt.Errorf("--%s: --%s has %s already: give another port", name, other.Name, probe.Printable(l.Address))
			}
		}
		p.listeners = append(p.listeners, l)
	}
	return nil
}

// exposedText is the warning about a listener that other machines can reach without TLS, and to which clients send the key.
func (p *plan) exposedText(name string) string {
	what, remedy := "the key goes over the network as it is", "give --tls-cert and --tls-key"
	if name == nameHTTP && p.reading.Asks() {
		what = "passwords, tokens and the key go over the network as they are"
	}
	if name == nameAnalogger {
		remedy = "give --tls-cert, --tls-key and tls=on after the address"
	}
	return fmt.Sprintf("--%s: %s: %s, or tls=off after the address behind a proxy that speaks TLS", name, what, remedy)
}

// asks reports whether a listener authenticates its clients, or an input accepts only some networks.
func (p *plan) asks(l *server.Listener, key string) bool {
	switch {
	case l.TLS != nil && l.TLS.ClientCAs != nil:
		return true
	case l.Name == nameHTTP: // senders and readers are authenticated separately
		return p.reading.Asks() && key != ""
	}
	return key != "" || len(l.Allow) > 0
}

// remedy says how to protect a listener that other machines can reach.
func remedy(l *server.Listener, p *plan) string {
	with := func(options string) string {
		return fmt.Sprintf("--%s '%s?%s'", l.Name, probe.Printable(l.Address), options)
	}
	const everybody = "or auth=off there if everybody may"
	switch {
	case l.Name == nameHTTP && p.reading.Asks():
		return "give --key-file for who may write"
	case l.Name == nameHTTP:
		return "give --user or --token for who may read and --key-file for who may write, --client-ca with --tls-cert and --tls-key, or " + with("auth=off") + " if everybody may do both"
	case l.Name == nameListen, l.Name == nameAnalogger:
		return "give --key-file, or say who may send, as " + with("allow=192.168.0.0/16") + ", " + everybody
	case l.Name == nameSyslogTLS:
		return "give --client-ca, or say who may send, as " + with("allow=192.168.0.0/16") + ", " + everybody
	}
	return "say who may send, as " + with("allow=192.168.0.0/16") + ", " + everybody
}

// keyOf returns the key that clients of a listener must send, or "" for none.
func (p *plan) keyOf(name string) (string, error) {
	s := p.settings[name]
	switch {
	case s == nil || !slices.Contains(optionsOf(name), "key-file") || s.authOff:
		return "", nil
	case s.keyFile == "":
		return p.Key, nil
	}
	return readKeyFile(s.keyFile)
}

// tlsOf returns the TLS configuration of a listener, or nil for none. With a certificate, TLS is on by default for clients of
// meanwhile, HTTP, and syslog over TLS; clients of Analogger and of JSON over TCP seldom support it.
func (p *plan) tlsOf(name string) (*tls.Config, error) {
	s := p.settings[name]
	on := p.certificate != nil && (name == nameListen || name == nameHTTP)
	if s.tls != "" || name == nameSyslogTLS {
		on = s.tls != off
	}
	switch {
	case on && p.certificate == nil:
		return nil, errors.New("it needs --tls-cert and --tls-key")
	case !on && s.clientCA != "" && s.clientCA != off:
		return nil, errors.New("client-ca is for TLS: give tls=on, and --tls-cert and --tls-key")
	case !on:
		return nil, nil
	}
	c := &tls.Config{GetCertificate: p.certificate.Get, MinVersion: tls.VersionTLS12}
	flag, file := "--client-ca", p.ClientCA
	if s.clientCA != "" {
		flag, file = "client-ca", s.clientCA
	}
	if file == "" || file == off {
		return c, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	c.ClientCAs, c.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !c.ClientCAs.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s: %s has no certificate in PEM", flag, probe.Printable(file))
	}
	return c, nil
}

// openHTTP reports whether HTTP needs no further authentication: it is turned off, or client certificates are required.
func (p *plan) openHTTP() (bool, error) {
	s := p.settings[nameHTTP]
	if s == nil || s.authOff || p.NoAuth {
		return s != nil, nil
	}
	c, err := p.tlsOf(nameHTTP)
	if err != nil {
		return false, fmt.Errorf("--%s: %w", nameHTTP, err)
	}
	return c != nil && c.ClientCAs != nil, nil
}
