package logs

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/settings"
	"github.com/meanwhile-go/meanwhile/logs/server"
)

// redaction parses an element of the list redact: what is replaced in records.
func (r *routeSettings) redaction(n *yaml.Node) error {
	rule := server.Redaction{Name: fmt.Sprintf("rule %d", len(r.redact)+1)}
	text := func(s string) (string, error) { return s, nil }
	err := mapping(n, "a redaction", map[string]func(*yaml.Node) error{
		"name":       value(&rule.Name, text, "a name"),
		"attributes": texts(&rule.Attrs),
		"message": func(n *yaml.Node) (err error) {
			if n.Kind != yaml.ScalarNode {
				return errors.New("give a regular expression")
			}
			rule.Pattern, err = regexp.Compile(n.Value)
			return err
		},
		"with": value(&rule.With, text, "a text"),
	})
	for _, other := range r.redact {
		if err == nil && other.Name == rule.Name {
			err = errors.New("two redactions have this name: give each its own")
		}
	}
	if err == nil {
		err = rule.Check()
	}
	r.redact = append(r.redact, rule)
	return settings.At(n.Line, fmt.Sprintf("redact %.60q", rule.Name), err)
}

// redactText describes a redaction.
func redactText(r server.Redaction) string {
	var what []string
	if len(r.Attrs) > 0 {
		what = append(what, "attributes "+strings.Join(r.Attrs, ", "))
	}
	if r.Pattern != nil {
		what = append(what, fmt.Sprintf("what matches %q", r.Pattern))
	}
	return r.Name + ": " + strings.Join(what, " and ")
}
