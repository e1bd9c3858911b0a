package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
)

const (
	searchedText = "cancel request timeout"
	hitsShown    = 3
	hitWidth     = 71 // of the text of a hit; the dots at each end may need two more columns
)

// search searches the index of the tasks, and prints the hits.
func (d *demo) search(ctx context.Context) error {
	variants := d.variants()
	last := variants[len(variants)-1]
	begun := time.Now()
	found, err := d.client.search(ctx, last.index, searchedText, hitsShown)
	if err != nil {
		return err
	}
	d.console.line("A search for %q in what the %s have indexed\nfinds %s in %s:", searchedText, last.name,
		probe.Count(found.Hits.Total.Value, "document"), probe.Span(time.Since(begun)))
	for _, hit := range found.Hits.Hits {
		d.console.print(showHit(hit.ID, strings.Join(hit.Highlight["text"], " ")))
	}
	return nil
}

// showHit returns a hit, and below it the text around the matching words, in one line.
func showHit(id, text string) string {
	text = strings.NewReplacer("<em>", "*", "</em>", "*").Replace(text)
	shown := []rune(probe.Printable(strings.Join(strings.Fields(text), " ")))
	if len(shown) > hitWidth {
		shown = append(shown[:hitWidth-1], '…')
	}
	if len(shown) == 0 {
		return fmt.Sprintf("  %s\n", id)
	}
	return fmt.Sprintf("  %s\n    %s\n", id, string(shown))
}
