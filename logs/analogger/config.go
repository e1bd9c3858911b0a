package analogger

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// A Config is the content of a configuration file of Analogger, with defaults for what the file leaves out.
type Config struct {
	Host         string        // to listen on; default 127.0.0.1
	Port         int           // default 6766
	Key          string        // that clients must send; default empty
	Interval     time.Duration // between writes, within which repeats are counted; default 1 s
	SyncInterval time.Duration // between syncs; default 1 min; 0: no syncs
	DefaultLog   string        // the destination of services without a Log: a path, [Stdout] or [Stderr]; default [Stdout]. Its repeats are counted
	Levels       []string      // the severities that are kept; default debug, info, warn, error and fatal
	Daemonize    bool
	PIDFile      string
	Logs         []Log
	Ignored      []string // settings in the file that have no meaning here, each with its line
}

// A Log defines where the records of some services go.
type Log struct {
	Line     int      // in the configuration file
	Services []string // one or more
	Socket   bool     // whether Logfile is a host instead of a file
	Logfile  string   // a path, [Stdout], [Stderr], or the host of a socket
	Port     int      // of a socket
	Mode     string   // the mode to open the file, as in Ruby ("ab+"); empty: append
	Levels   []string // the severities that are kept; default Levels of the Config
	Cull     bool     // whether repeats are counted instead of written
}

// Destinations of records that go to no file. A "-" in the file is STDOUT.
const (
	Stdout = "STDOUT"
	Stderr = "STDERR"
)

const maxConfig = 1 << 20 // bytes of a file

// ReadConfig reads a configuration file. The error lists all mistakes in it, each with its line.
func ReadConfig(r io.Reader) (*Config, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxConfig+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the configuration: %w", err)
	case len(text) > maxConfig:
		return nil, fmt.Errorf("the configuration has more than %d bytes", maxConfig)
	}
	c := &Config{
		Host: "127.0.0.1", Port: 6766, Interval: time.Second, SyncInterval: time.Minute, DefaultLog: Stdout,
		Levels: []string{"debug", "info", "warn", "error", "fatal"},
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(doc.Content) == 0 || doc.Content[0].Tag == "!!null" {
		return c, nil
	}
	var logs *yaml.Node
	wrong := c.readMapping(doc.Content[0], map[string]func(*yaml.Node) error{
		"host":         filled(&c.Host),
		"port":         port(&c.Port),
		"key":          word(&c.Key),
		"interval":     seconds(&c.Interval, "more than 0"),
		"syncinterval": seconds(&c.SyncInterval, "0 or more"),
		"default_log":  destination(&c.DefaultLog),
		"levels":       words(&c.Levels),
		"daemonize":    boolean(&c.Daemonize),
		"pidfile":      filled(&c.PIDFile),
		"logs":         func(n *yaml.Node) error { logs = n; return nil },
	})
	if logs != nil { // after the levels, wherever they are in the file
		wrong = errors.Join(wrong, c.readLogs(logs))
	}
	if wrong != nil {
		return nil, wrong
	}
	return c, nil
}

func (c *Config) readLogs(n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode {
		return fmt.Errorf("line %d: logs is a list, each with a service and a logfile", n.Line)
	}
	var wrong error
	owners := map[string]int{}
	for _, entry := range n.Content {
		l := Log{Line: entry.Line, Levels: c.Levels}
		var kind string
		var options []string
		err := c.readMapping(entry, map[string]func(*yaml.Node) error{
			"service": texts(&l.Services),
			"logfile": destination(&l.Logfile),
			"levels":  words(&l.Levels),
			"cull":    boolean(&l.Cull),
			"type":    filled(&kind),
			"options": texts(&options),
		})
		if err == nil {
			err = l.finish(kind, append(options, "")[0])
			if len(options) > 1 {
				c.Ignored = append(c.Ignored, fmt.Sprintf("line %d: all options but the first", entry.Line))
			}
		}
		for _, service := range l.Services {
			if line, twice := owners[service]; twice {
				err = errors.Join(err, fmt.Errorf("line %d: service %q has a log in line %d already", entry.Line, service, line))
			}
			owners[service] = entry.Line
		}
		wrong = errors.Join(wrong, err)
		c.Logs = append(c.Logs, l)
	}
	return wrong
}

// finish checks the keys of a log together, and sets the fields that the type and the options define.
func (l *Log) finish(kind, options string) error {
	switch {
	case len(l.Services) == 0:
		return fmt.Errorf("line %d: a log without service", l.Line)
	case l.Logfile == "":
		return fmt.Errorf("line %d: a log without logfile", l.Line)
	case kind == "" || kind == "file":
		l.Mode = options
	case kind == "socket":
		l.Socket = true
		n, err := strconv.ParseUint(options, 10, 16)
		if err != nil || n == 0 {
			return fmt.Errorf("line %d: the options of a socket are its port, not %q", l.Line, options)
		}
		l.Port = int(n)
	default:
		return fmt.Errorf("line %d: the type of a log is file or socket, not %q", l.Line, kind)
	}
	return nil
}
