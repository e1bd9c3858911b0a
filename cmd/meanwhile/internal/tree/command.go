// Package tree is the command "meanwhile tree".
package tree

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
)

// A Command has the flags of "meanwhile tree", filled in by kong.
type Command struct {
	probe.Target
	JSON   bool   `name:"json" help:"Print the response as JSON; durations are in nanoseconds."`
	Max    int    `default:"10000" placeholder:"N" help:"List up to N tasks, those near the root first (default ${default}); the others are counted."`
	Filter string `placeholder:"WORD" help:"Show only tasks with the word in their path, state, wait or place, and the tasks above them."`
}

// Help is the text above the flags.
func (*Command) Help() string {
	return `Prints the task tree of a running Go program, and what each task waits for: since when, and at which line. The program
has to mount live.Handler, usually at /debug/meanwhile. "meanwhile top" shows the same, live.

A response of more than 256 MB is refused.

Exit codes: 0 printed, 1 no usable response, 2 usage error.`
}

// Run sends one request and prints the answer.
func (c *Command) Run(streams probe.Streams) error {
	if c.Max < 1 || c.Max > 1_000_000 {
		return &probe.UsageError{Err: errors.New("--max: give a number from 1 to 1000000")}
	}
	client, err := c.Client()
	if err != nil {
		return err
	}
	snapshot, err := client.Snapshot(context.Background(), c.Max)
	if err != nil {
		return err
	}
	if c.Filter != "" {
		if left := leftOut(snapshot); left > 0 {
			fmt.Fprintf(streams.Err, "Not searched: %s beyond --max %d\n", probe.Count(left, "task"), c.Max)
		}
		snapshot.Trees, _ = probe.Filter(snapshot.Trees, c.Filter)
	}
	if c.JSON {
		encoder := json.NewEncoder(streams.Out)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(snapshot)
	} else {
		err = draw(streams.Out, snapshot, c.Filter == "")
	}
	if err != nil {
		return fmt.Errorf("write the trees: %w", err)
	}
	return nil
}
