package logs

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/logs/analogger"
	"github.com/meanwhile-go/meanwhile/logs/linefile"
	"github.com/meanwhile-go/meanwhile/logs/server"
)

// readAnalogger applies a configuration file of Analogger, before the flags and the other file.
func (p *plan) readAnalogger() error {
	if p.AnaloggerConfig == "" {
		return nil
	}
	c, err := readAnaloggerConfig(p.AnaloggerConfig)
	if err != nil {
		return err
	}
	if p.Key != "" && c.Key != p.Key {
		return fmt.Errorf("--key: %s has another one", probe.Printable(p.AnaloggerConfig))
	}
	p.Key = c.Key
	_, options, _ := strings.Cut(p.Analogger, "?")
	p.Analogger = net.JoinHostPort(c.Host, strconv.Itoa(c.Port)) + strings.TrimSuffix("?"+options, "?")
	p.Interval, p.syncEvery, p.Sync = c.Interval, c.SyncInterval, string(linefile.SyncInterval)
	if c.SyncInterval == 0 {
		p.Sync = string(linefile.SyncOS)
	}
	for _, ignored := range c.Ignored {
		p.logger.Warn("logs: a setting of Analogger is ignored", "file", p.AnaloggerConfig, "setting", ignored)
	}
	if c.PIDFile != "" && p.PIDFile == "" {
		p.PIDFile = c.PIDFile
	}
	if c.Daemonize {
		p.logger.Warn("logs: daemonize is ignored: the program stays in the foreground")
	}
	p.routes.routes = append(p.routes.routes, analoggerRoutes(c)...)
	p.fallback = analoggerFallback(c)
	return nil
}

// readAnaloggerConfig reads the file. Its error has a line for each problem.
func readAnaloggerConfig(name string) (*analogger.Config, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("--analogger-config: %w", err)
	}
	defer f.Close()
	c, err := analogger.ReadConfig(f)
	if err == nil {
		for _, l := range c.Logs {
			if l.Mode != "" && !strings.HasPrefix(l.Mode, "a") {
				err = errors.Join(err, fmt.Errorf("line %d: files are appended to: mode %.10q is not supported", l.Line, l.Mode))
			}
		}
	}
	if err != nil {
		var lines []string
		for line := range strings.Lines(err.Error()) {
			lines = append(lines, probe.Printable(name)+": "+probe.Printable(strings.TrimSpace(line)))
		}
		return nil, errors.New(strings.Join(lines, "\n"))
	}
	return c, nil
}

func analoggerRoutes(c *analogger.Config) (routes []server.Route) {
	for _, l := range c.Logs {
		to := analoggerPlace(l.Logfile)
		if l.Socket {
			to = server.Destination{Socket: net.JoinHostPort(l.Logfile, strconv.Itoa(l.Port))}
		}
		routes = append(routes, server.Route{Services: l.Services, Words: l.Levels, Dedupe: l.Cull, Raw: true, To: []server.Destination{to}})
	}
	return routes
}

// analoggerFallback returns the route of services without a log of their own.
func analoggerFallback(c *analogger.Config) server.Route {
	return server.Route{Words: c.Levels, Dedupe: true, Raw: true, To: []server.Destination{analoggerPlace(c.DefaultLog)}}
}

func analoggerPlace(logfile string) server.Destination {
	switch logfile {
	case analogger.Stdout:
		return server.Destination{Writer: os.Stdout}
	case analogger.Stderr:
		return server.Destination{Writer: os.Stderr}
	}
	return server.Destination{File: &linefile.Config{Path: logfile}}
}
