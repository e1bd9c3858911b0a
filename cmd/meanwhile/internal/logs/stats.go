package logs

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/interrupt"
	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
)

// Stats is "meanwhile logs stats".
type Stats struct {
	JSON bool `group:"Output" name:"json" help:"Print the response as JSON."`
	Source
}

// Help is the text above the flags.
func (*Stats) Help() string {
	return `Prints the counters of a log server since its start: records received by each input, rejected and why, written to each output.

Exit codes: 0 printed, 1 not printed, 2 usage error, 130 interrupted.`
}

// Run prints the report.
func (c *Stats) Run(streams probe.Streams) error {
	client, err := c.Client(nil)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	return absent(interrupt.Run("logs", func(ctx context.Context) error {
		stats, err := client.Stats(ctx)
		if err != nil {
			return err
		}
		text := append(stats, '\n')
		if !c.JSON {
			if text, err = outline(stats); err != nil {
				return fmt.Errorf("read the statistics: %w", err)
			}
		}
		_, err = streams.Out.Write(appendSafe(nil, string(text), "\n"))
		return err
	}))
}

// outline formats JSON as indented lines of "name: value", in the same order. Empty and zero values are omitted.
func outline(text json.RawMessage) ([]byte, error) {
	o := &outliner{decoder: json.NewDecoder(strings.NewReader(string(text)))}
	o.decoder.UseNumber()
	err := o.value("", "")
	return o.out, err
}

type outliner struct {
	decoder *json.Decoder
	out     []byte
}

// value formats the next value, with its name.
func (o *outliner) value(indent, name string) error {
	token, err := o.decoder.Token()
	if err != nil {
		return err
	}
	delim, ok := token.(json.Delim)
	if !ok {
		if text := fmt.Sprint(token); token != nil && text != "" && text != "0" && text != "false" {
			o.out = fmt.Appendf(o.out, "%s%s: %s\n", indent, safe(name), safe(text))
		}
		return nil
	}
	begin := len(o.out)
	below := indent
	if name != "" {
		o.out = fmt.Appendf(o.out, "%s%s\n", indent, safe(name))
		below += "  "
	}
	headed := len(o.out)
	for i := 1; o.decoder.More(); i++ {
		key := any(fmt.Sprint(i))
		if delim == '{' {
			if key, err = o.decoder.Token(); err != nil {
				return err
			}
		}
		if err := o.value(below, key.(string)); err != nil {
			return err
		}
	}
	if len(o.out) == headed { // it has no content
		o.out = o.out[:begin]
	}
	_, err = o.decoder.Token()
	return err
}
