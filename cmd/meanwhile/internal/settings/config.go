// Package settings reads the settings of a long-running command from a file, if neither a flag nor the environment has them.
package settings

import (
	"bytes"
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
)

// NotInFile are the flags that are not allowed in a file.
var NotInFile = []string{"help", "config", "check"}

const mostConfig = 1 << 20 // bytes of a file

// A File describes how the configuration file of a command is read. The flag --config of the command names it.
type File struct {
	Command string // such as "meanwhile serve", for messages
	Flag    string // that names the file, for messages; empty is --config
	// Check validates the value of each flag after kong has parsed it; nil accepts all.
	Check func(key string, value any) error
	// More are keys that are not flags, with the functions that parse their values.
	More map[string]func(value *yaml.Node) error
}

// Resolve implements BeforeResolve of a command: it makes kong use settings from the file.
func (file File) Resolve(ctx *kong.Context, path *kong.Path) error {
	flags := map[string]*kong.Flag{}
	for _, f := range path.Flags {
		flags[f.Name] = f
	}
	name, _ := ctx.FlagValue(flags["config"]).(string)
	if name == "" {
		return nil
	}
	values, err := file.Read(name, flags)
	if err != nil {
		return err
	}
	ctx.AddResolver(kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, f *kong.Flag) (any, error) {
		if flags[f.Name] != f || slices.ContainsFunc(f.Envs, isSet) {
			return nil, nil
		}
		if value, ok := values[f.Name]; ok {
			return value, nil
		}
		return nil, nil
	}))
	return nil
}

func isSet(name string) bool {
	_, ok := os.LookupEnv(name)
	return ok
}

// Read reads the values of flags from a file. Its error has all problems, one per line.
func (file File) Read(name string, flags map[string]*kong.Flag) (map[string]string, error) {
	text, err := readFile(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cmp.Or(file.Flag, "--config"), err)
	}
	shown := probe.Printable(name)
	var doc, second yaml.Node
	documents := yaml.NewDecoder(bytes.NewReader(text))
	if err = documents.Decode(&doc); err == nil {
		err = documents.Decode(&second)
	}
	switch {
	case err == nil:
		return nil, fmt.Errorf("%s:%d: a second YAML document begins here: keep all settings in one, without --- between them", shown, second.Line)
	case !errors.Is(err, io.EOF):
		return nil, syntaxError(shown, err)
	}
	values := map[string]string{}
	if len(doc.Content) == 0 {
		return values, nil
	}
	root := doc.Content[0]
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s:%d: it has no settings: write each as KEY: VALUE", shown, root.Line)
	}
	var wrong []error
	for i := 0; i < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		for _, p := range problems(key.Line, file.setting(values, flags, key, value)) {
			wrong = append(wrong, fmt.Errorf("%s:%d: %w", shown, p.line, p.err))
		}
	}
	return values, errors.Join(wrong...)
}

var yamlError = regexp.MustCompile(`^yaml: line (\d+): (.*)`)

// syntaxError returns an error of package yaml with the name of the file. The package counts the lines of errors of its parser, which
// are about what it expected, from 0.
func syntaxError(shown string, err error) error {
	text := probe.Printable(err.Error())
	m := yamlError.FindStringSubmatch(text)
	if m == nil {
		return fmt.Errorf("%s: %s", shown, strings.TrimPrefix(text, "yaml: "))
	}
	line, _ := strconv.Atoi(m[1])
	if strings.HasPrefix(m[2], "did not find expected ") {
		line++
	}
	return fmt.Errorf("%s:%d: %s", shown, line, m[2])
}

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostConfig+1))
	if err == nil && len(text) > mostConfig {
		err = fmt.Errorf("%s has more than %d bytes", probe.Printable(name), mostConfig)
	}
	return text, err
}

// setting reads a key and its value, and checks whether the flag accepts it.
func (file File) setting(values map[string]string, flags map[string]*kong.Flag, key, value *yaml.Node) error {
	flag := flags[key.Value]
	more := file.More[key.Value]
	if more == nil && (flag == nil || slices.Contains(NotInFile, key.Value)) {
		return fmt.Errorf("unknown key %.40q: the keys are the names of the flags of %s%s", key.Value, file.Command, file.others())
	}
	if _, twice := values[key.Value]; twice {
		return fmt.Errorf("%s is set twice", key.Value)
	}
	values[key.Value] = "" // marks the key as used, even if the value is invalid
	if more != nil {
		return more(value)
	}
	texts, err := settingOf(flag, value)
	if err != nil {
		return At(key.Line, key.Value, err)
	}
	var all []string
	var wrong []error
	for _, text := range texts {
		all = append(all, text.Value)
		wrong = append(wrong, At(text.Line, key.Value, file.accept(flag, text.Value)))
	}
	values[key.Value] = written(flag, all...)
	return errors.Join(wrong...)
}

// written returns a value as it would be written after the flag.
func written(flag *kong.Flag, texts ...string) string {
	if flag.IsSlice() {
		return kong.JoinEscaped(texts, flag.Tag.Sep)
	}
	return texts[0]
}

// accept returns an error if the flag does not accept a value, which may be one of several.
func (file File) accept(flag *kong.Flag, text string) error {
	trial := reflect.New(flag.Target.Type()).Elem()
	if err := flag.Parse(kong.Scan().PushTyped(written(flag, text), kong.FlagValueToken), trial); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), flag.ShortSummary()+": "))
	}
	if allowed := flag.EnumSlice(); flag.Enum != "" && !slices.Contains(allowed, text) {
		return fmt.Errorf("%.40q is not one of %s", text, strings.Join(allowed, ", "))
	}
	if file.Check == nil {
		return nil
	}
	return file.Check(flag.Name, trial.Interface())
}

// others returns the names of keys that are not flags.
func (file File) others() string {
	if len(file.More) == 0 {
		return ""
	}
	return ", and " + strings.Join(slices.Sorted(maps.Keys(file.More)), ", ")
}

// ParseAll parses users or tokens. Kong does not parse them, since its errors show the value, which may be a password.
func ParseAll[T any, P interface {
	*T
	encoding.TextUnmarshaler
}](texts []string) ([]T, error) {
	all := make([]T, len(texts))
	for i, text := range texts {
		if err := P(&all[i]).UnmarshalText([]byte(text)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// settingOf returns the texts of a value: one, or those of a list.
func settingOf(flag *kong.Flag, value *yaml.Node) ([]*yaml.Node, error) {
	switch {
	case value.Kind == yaml.ScalarNode && value.Tag == "!!null":
		return nil, errors.New("it has no value: leave the key out, or give one")
	case value.Kind == yaml.ScalarNode:
		return []*yaml.Node{value}, nil
	case value.Kind == yaml.SequenceNode && flag.IsSlice():
		var wrong []error
		for _, element := range value.Content {
			if element.Kind != yaml.ScalarNode || element.Tag == "!!null" {
				wrong = append(wrong, At(element.Line, "", errors.New("give a list of texts")))
			}
		}
		return value.Content, errors.Join(wrong...)
	case flag.IsSlice():
		return nil, errors.New("give a text, or a list of texts")
	}
	return nil, errors.New("give one value")
}
