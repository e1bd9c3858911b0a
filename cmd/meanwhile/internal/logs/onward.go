package logs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/logs/outputs"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/settings"
	"github.com/meanwhile-go/meanwhile/logs/filter"
	"github.com/meanwhile-go/meanwhile/logs/forward"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// onward is an output that stored records are forwarded to.
type onward struct {
	output outputs.Output
	filter filter.Filter
	name   string // that of the settings, or of the output
	cursor string // file with its position
	newest bool   // starts after the records that are already stored
}

// forward parses an element of the list forward: a URL, or a mapping.
func (r *routeSettings) forward(n *yaml.Node) error {
	var to, secret string
	var o onward
	at := n.Line
	text := func(s string) (string, error) { return s, nil }
	keys := map[string]func(*yaml.Node) error{
		"to": func(n *yaml.Node) error {
			at = n.Line
			return value(&to, text, "a URL, such as "+outputs.Kinds)(n)
		},
		"secret-file": func(n *yaml.Node) error {
			var name string
			if err := value(&name, text, "a file")(n); err != nil {
				return err
			}
			text, err := os.ReadFile(name)
			secret = strings.TrimRight(string(text), "\r\n")
			return err
		},
		"name":   value(&o.name, text, "a name"),
		"filter": records(&o.filter),
		"from": func(n *yaml.Node) error {
			if o.newest = n.Value == "newest"; !o.newest && n.Value != "oldest" {
				return errors.New("give newest or oldest")
			}
			return nil
		},
	}
	var err error
	if n.Kind == yaml.ScalarNode {
		to = n.Value
	} else if err = mapping(n, "an output", keys); err != nil {
		return err
	}
	if to == "" {
		return fmt.Errorf("an output has a URL: to: %s", outputs.Kinds)
	}
	if o.output, err = outputs.Open(to, secret); err != nil {
		return settings.At(at, "", err)
	}
	o.cursor = cursorName(cmp.Or(o.name, o.output.ID))
	o.name = cmp.Or(o.name, o.output.Name)
	for _, other := range r.onward {
		if other.name == o.name {
			return fmt.Errorf("two outputs are %s: give each a name of its own", probe.Printable(o.name))
		}
	}
	r.onward = append(r.onward, o)
	return nil
}

// forwardAll forwards stored records until ctx is canceled. The position of each output is kept beside the store. An output that
// cannot continue does not delay the others.
func (p *plan) forwardAll(ctx context.Context, store storage.Store) error {
	if len(p.routes.onward) == 0 {
		return nil
	}
	if store == nil {
		return errors.New("records are forwarded from the store, but no route leads to it")
	}
	folder := filepath.Join(p.Dir, "forward")
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return fmt.Errorf("--dir: %w", err)
	}
	forwarders := make(map[string]*forward.Forwarder, len(p.routes.onward))
	for _, o := range p.routes.onward {
		f := &forward.Forwarder{
			Store: store, Output: o.output, Name: o.output.Name, Filter: o.filter, Newest: o.newest, Logger: p.logger,
			Cursor: filepath.Join(folder, o.cursor),
		}
		forwarders[o.name] = f
		meanwhile.Go(ctx, func(ctx context.Context) error {
			if err := f.Run(ctx); ctx.Err() == nil {
				p.logger.Error("logs: nothing is forwarded until the program is restarted", "output", f.Name, "error", err)
			}
			return nil
		}, meanwhile.InBackground(), meanwhile.Name("forward "+o.name))
	}
	p.forwarders.Store(&forwarders)
	return nil
}

// cursorName returns a file name for the name of an output.
func cursorName(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "%%%02x", c)
	}
	return b.String()
}
