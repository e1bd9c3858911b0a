package analogger

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// readMapping calls the function of each key of a mapping with its value, and returns all errors. Unknown keys are ignored, as Analogger
// does.
func (c *Config) readMapping(n *yaml.Node, keys map[string]func(*yaml.Node) error) error {
	n = target(n)
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: write settings as KEY: VALUE", n.Line)
	}
	var wrong error
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], target(n.Content[i+1])
		name := strings.TrimPrefix(key.Value, ":") // of a Ruby symbol
		read := keys[name]
		var err error
		switch {
		case read == nil:
			c.Ignored = append(c.Ignored, fmt.Sprintf("line %d: unknown key %.40q", key.Line, key.Value))
		case seen[name]:
			err = fmt.Errorf("%s is set twice", name)
		case value.Tag != "!!null": // a null means the default, as in Analogger
			if err = read(value); err != nil {
				err = fmt.Errorf("%s: %w", name, err)
			}
		}
		seen[name] = true
		if err != nil {
			wrong = errors.Join(wrong, fmt.Errorf("line %d: %w", key.Line, err))
		}
	}
	return wrong
}

// target returns the node that an alias refers to.
func target(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func scalar(n *yaml.Node) (string, error) {
	if n = target(n); n.Kind != yaml.ScalarNode {
		return "", errors.New("give one value")
	}
	return n.Value, nil
}

// word reads a text that may be empty.
func word(to *string) func(*yaml.Node) error {
	return func(n *yaml.Node) (err error) {
		*to, err = scalar(n)
		return err
	}
}

func filled(to *string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		text, err := scalar(n)
		if err == nil && text == "" {
			err = errors.New("it is empty")
		}
		*to = text
		return err
	}
}

// destination reads the destination of lines. It accepts STDOUT and STDERR in any case, and "-" for STDOUT.
func destination(to *string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		err := filled(to)(n)
		switch {
		case *to == "-" || strings.EqualFold(*to, Stdout):
			*to = Stdout
		case strings.EqualFold(*to, Stderr):
			*to = Stderr
		}
		return err
	}
}

// texts reads one text or a list of them.
func texts(to *[]string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		all := []*yaml.Node{n}
		if n.Kind == yaml.SequenceNode {
			all = n.Content
		}
		*to = nil
		for _, element := range all {
			var text string
			if err := filled(&text)(element); err != nil {
				return err
			}
			*to = append(*to, text)
		}
		return nil
	}
}

// words reads words with commas between them, or a list of words.
func words(to *[]string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		var all []string
		if err := texts(&all)(n); err != nil {
			return err
		}
		*to = nil
		for _, text := range all {
			for word := range strings.SplitSeq(text, ",") {
				if word = strings.TrimSpace(word); word != "" && !slices.Contains(*to, word) {
					*to = append(*to, word)
				}
			}
		}
		if len(*to) == 0 {
			return errors.New("give words with commas between them")
		}
		return nil
	}
}

func port(to *int) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		text, err := scalar(n)
		if err != nil {
			return err
		}
		number, err := strconv.ParseUint(text, 10, 16)
		if err != nil || number == 0 {
			return fmt.Errorf("a port is a number from 1 to 65535, not %.40q", text)
		}
		*to = int(number)
		return nil
	}
}

// seconds reads a number of seconds, which may have a fraction. The range is "more than 0" or "0 or more".
func seconds(to *time.Duration, least string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		text, err := scalar(n)
		if err != nil {
			return err
		}
		number, err := strconv.ParseFloat(text, 64)
		if err != nil || !(number >= 0 && number <= 86_400) || number == 0 && least != "0 or more" {
			return fmt.Errorf("it is a number of seconds, %s and at most 86400, not %.40q", least, text)
		}
		*to = time.Duration(number * float64(time.Second))
		return nil
	}
}

func boolean(to *bool) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		text, err := scalar(n)
		if err != nil {
			return err
		}
		switch strings.ToLower(text) {
		case "true", "yes", "on":
			*to = true
		case "false", "no", "off":
			*to = false
		default:
			return fmt.Errorf("it is true or false, not %.40q", text)
		}
		return nil
	}
}
