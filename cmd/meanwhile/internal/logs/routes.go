package logs

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/settings"
	"github.com/meanwhile-go/meanwhile/internal/severity"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/filter"
	"github.com/meanwhile-go/meanwhile/logs/linefile"
	"github.com/meanwhile-go/meanwhile/logs/segment"
	"github.com/meanwhile-go/meanwhile/logs/server"
)

// routeSettings are the settings in the file that are not flags.
type routeSettings struct {
	routes []server.Route
	limits []server.Limit
	redact []server.Redaction
	onward []onward
	alerts []alertSetting
	keep   map[string]segment.Retention // retention of some services
}

func (r *routeSettings) file() settings.File {
	return settings.File{Command: "meanwhile logs serve", More: map[string]func(*yaml.Node) error{
		"routes": list(r.route), "limits": list(r.limit), "redact": list(r.redaction), "forward": list(r.forward), "keep": list(r.retain),
		"alerts": list(r.alert),
	}}
}

// list returns a function that parses a list, calling each for its elements.
func list(each func(*yaml.Node) error) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if n.Kind != yaml.SequenceNode {
			return settings.At(n.Line, "", errors.New("give a list"))
		}
		var wrong []error
		for _, element := range n.Content {
			wrong = append(wrong, settings.At(element.Line, "", each(element)))
		}
		return errors.Join(wrong...)
	}
}

// mapping parses the keys of a mapping.
func mapping(n *yaml.Node, what string, keys map[string]func(*yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return settings.At(n.Line, "", fmt.Errorf("%s is written as KEY: VALUE", what))
	}
	var wrong []error
	seen := map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		read := keys[key.Value]
		name := fmt.Sprintf("%.40s", strconv.Quote(key.Value))
		switch {
		case read == nil:
			wrong = append(wrong, settings.At(key.Line, name, fmt.Errorf("%s has no key %.40q", what, key.Value)))
		case seen[key.Value]:
			wrong = append(wrong, settings.At(key.Line, name, errors.New("it is set twice")))
		default:
			wrong = append(wrong, settings.At(value.Line, name, read(value)))
		}
		seen[key.Value] = true
	}
	return errors.Join(wrong...)
}

func (r *routeSettings) route(n *yaml.Node) error {
	var route server.Route
	err := mapping(n, "a route", map[string]func(*yaml.Node) error{
		"service":  services(&route.Services),
		"level":    level(&route.Level),
		"words":    texts(&route.Words),
		"dedupe":   value(&route.Dedupe, strconv.ParseBool, "true or false"),
		"fraction": value(&route.Fraction, fraction, "the digits behind the seconds in the times of lines: .000, .000000 or .000000000"),
		"to": func(n *yaml.Node) error {
			if n.Kind != yaml.SequenceNode {
				return r.destination(&route, n)
			}
			return list(func(n *yaml.Node) error { return r.destination(&route, n) })(n)
		},
	})
	if err == nil && len(route.To) == 0 {
		err = errors.New("a route needs a destination, as in to: store")
	}
	r.routes = append(r.routes, route)
	return err
}

// destination parses a destination in the syntax of --to, or a file with its settings.
func (r *routeSettings) destination(route *server.Route, n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		to, err := r.parseDestination(n.Value)
		route.To = append(route.To, to)
		return err
	}
	var f linefile.Config
	err := mapping(n, "a file", map[string]func(*yaml.Node) error{
		"file": func(n *yaml.Node) (err error) {
			f.Path, err = linePath(n.Value)
			return err
		},
		"mode":      value(&f.Mode, mode, "a mode such as 0640"),
		"max-bytes": value(&f.MaxBytes, bytes, "a size such as 100MB"),
		"daily":     value(&f.Daily, strconv.ParseBool, "true or false"),
		"compress":  value(&f.Compress, strconv.ParseBool, "true or false"),
		"max-age":   value(&f.MaxAge, age, "a time such as 12h or 30d"),
		"max-total": value(&f.MaxTotal, bytes, "a size such as 10GiB"),
	})
	if err == nil && f.Path == "" {
		err = errors.New("give the file, as file: PATH")
	}
	route.To = append(route.To, server.Destination{File: &f})
	return err
}

// parseDestination parses a destination in the syntax of --to.
func (r *routeSettings) parseDestination(text string) (server.Destination, error) {
	kind, rest, _ := strings.Cut(text, ":")
	switch {
	case text == "store":
		return server.Destination{Store: true}, nil
	case text == "stdout":
		return server.Destination{Writer: os.Stdout}, nil
	case text == "stderr":
		return server.Destination{Writer: os.Stderr}, nil
	case kind == "file" && rest != "":
		path, err := linePath(rest)
		return server.Destination{File: &linefile.Config{Path: path}}, err
	case kind == "socket" && rest != "":
		if _, err := settings.Address(rest, exampleAddress); err != nil {
			return server.Destination{}, err
		}
		return server.Destination{Socket: rest}, nil
	}
	return server.Destination{}, fmt.Errorf("%.60q is not one of store, stdout, stderr, file:PATH and socket:HOST:PORT", text)
}

var inBraces = regexp.MustCompile(`\{\w+\}`)

// linePath checks the path of a file output.
func linePath(text string) (string, error) {
	for _, part := range inBraces.FindAllString(text, -1) {
		if part != "{service}" {
			return "", fmt.Errorf("%.60q has the unknown placeholder %.20s: the only one is {service}", text, part)
		}
	}
	return text, nil
}

func (r *routeSettings) limit(n *yaml.Node) error {
	var l server.Limit
	err := mapping(n, "a limit", map[string]func(*yaml.Node) error{
		"service": services(&l.Services),
		"rate":    value(&l.Rate, func(s string) (float64, error) { return strconv.ParseFloat(s, 64) }, "a number of records a second"),
		"burst":   value(&l.Burst, strconv.Atoi, "a number of records"),
	})
	if err == nil && (!(l.Rate > 0) || l.Rate > 1e9 || l.Burst < 0) {
		err = errors.New("a limit needs a rate above 0, in records per second")
	}
	r.limits = append(r.limits, l)
	return err
}

func (r *routeSettings) retain(n *yaml.Node) error {
	var names []string
	var keep segment.Retention
	err := mapping(n, "what is kept", map[string]func(*yaml.Node) error{
		"service": services(&names),
		"age":     value(&keep.Age, orNone(age), "a time such as 12h or 30d; 0 is for ever"),
		"size":    value(&keep.Bytes, orNone(bytes), "a size such as 500MB or 10GiB; 0 is any"),
	})
	if err == nil && (len(names) == 0 || keep == segment.Retention{}) {
		err = errors.New("each entry of keep needs services, and an age or a size")
	}
	for _, name := range names {
		if name == "*" && err == nil {
			err = errors.New("for all services, use keep-age and keep-size")
		}
		if wrong := logs.CheckService(strings.TrimSuffix(name, "*")); err == nil && wrong != nil {
			err = fmt.Errorf("service %.40q: %w", name, wrong)
		}
		if r.keep == nil {
			r.keep = map[string]segment.Retention{}
		}
		if _, again := r.keep[name]; err == nil && again {
			err = fmt.Errorf("service %.40q: its retention is set twice", name)
		}
		r.keep[name] = keep
	}
	return err
}

// orNone returns a parser for a limit, in which zero means no limit.
func orNone[T time.Duration | int64](parse func(string) (T, error)) func(string) (T, error) {
	return func(text string) (T, error) {
		n, err := parse(text)
		if err == nil && n < 0 {
			err = errors.New("out of range")
		}
		return unlessZero(n), err
	}
}

// value returns a function that parses one value.
func value[T any](into *T, parse func(string) (T, error), want string) func(*yaml.Node) error {
	return func(n *yaml.Node) (err error) {
		if n.Kind == yaml.ScalarNode {
			if *into, err = parse(n.Value); err == nil && n.Value != "" {
				return nil
			}
		}
		return fmt.Errorf("give %s", want)
	}
}

func texts(into *[]string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		for _, element := range elements(n) {
			if n.Kind == yaml.MappingNode || element.Kind != yaml.ScalarNode || element.Value == "" {
				return settings.At(element.Line, "", errors.New("give a text, or a list of texts"))
			}
			*into = append(*into, element.Value)
		}
		return nil
	}
}

// elements returns the elements of a list, or one text.
func elements(n *yaml.Node) []*yaml.Node {
	if n.Kind == yaml.ScalarNode {
		return []*yaml.Node{n}
	}
	return n.Content
}

// services returns a function that parses names of services, or prefixes of names.
func services(into *[]string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if err := texts(into)(n); err != nil {
			return err
		}
		var wrong []error
		for _, name := range elements(n) {
			if strings.Contains(strings.TrimSuffix(name.Value, "*"), "*") {
				wrong = append(wrong, settings.At(name.Line, "", fmt.Errorf("%.40q: a * is only allowed at the end of a name, as in api-*", name.Value)))
			}
		}
		return errors.Join(wrong...)
	}
}

// records returns a function that parses a filter of records. An empty one is refused: it would match all of them.
func records(into *filter.Filter) func(*yaml.Node) error {
	return func(n *yaml.Node) (err error) {
		if n.Kind != yaml.ScalarNode || strings.TrimSpace(n.Value) == "" {
			return errors.New("give a filter in one text, such as level>=error")
		}
		*into, err = filter.Parse(n.Value)
		return err
	}
}

func level(into *slog.Leveler) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		l, ok := severity.Level([]byte(n.Value))
		if !ok || n.Kind != yaml.ScalarNode {
			return errors.New("give a level, such as debug, info, warn, error or fatal")
		}
		*into = l
		return nil
	}
}

// fraction parses the number of digits of a fraction of a second, and returns it as in Go's time layouts.
func fraction(text string) (int, error) {
	switch text {
	case ".000", ".000000", ".000000000":
		return len(text) - 1, nil
	}
	return 0, errors.New("another number of digits")
}

func mode(text string) (uint32, error) {
	n, err := strconv.ParseUint(text, 8, 32)
	if err == nil && n > 0o777 {
		err = errors.New("too many bits")
	}
	return uint32(n), err
}

// age parses a duration, which may be in days.
func age(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(text)
}

// bytes parses a size with decimal or binary units.
func bytes(text string) (int64, error) {
	factor := int64(1)
	for _, unit := range []struct {
		name   string
		factor int64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1}} {
		if number, ok := strings.CutSuffix(text, unit.name); ok {
			text, factor = strings.TrimSpace(number), unit.factor
			break
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err == nil && (n < 0 || n > 1<<62/factor) {
		err = errors.New("out of range")
	}
	return n * factor, err
}
