package logs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/internal/jsontext"
	"github.com/meanwhile-go/meanwhile/logs/remote"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// count prints the number of records for each value.
func (c *Find) count(ctx context.Context, f storage.Finder, q storage.Query, streams probe.Streams) error {
	var counts *storage.Counts
	var err error
	if server, ok := f.(*remote.Client); ok {
		counts, err = server.CountBy(ctx, q, c.CountBy, c.Every)
	} else {
		counts, err = storage.CountBy(ctx, f, q, c.CountBy, c.Every)
	}
	switch {
	case errors.Is(err, storage.ErrCounts):
		return usage("%v", err)
	case err != nil:
		return err
	}
	limitGroups(counts, c.Limit)
	switch {
	case c.JSON:
		text, err := json.Marshal(counts)
		if err != nil {
			return err
		}
		_, err = streams.Out.Write(append(jsontext.AppendRaw(nil, text), '\n'))
		return err
	case counts.Records == 0:
		fmt.Fprintln(streams.Err, "No records match.")
		return nil
	}
	return printCounts(streams.Out, counts)
}

// limitGroups merges the groups beyond a limit into the others. A limit of 0 keeps all groups.
func limitGroups(counts *storage.Counts, limit int) {
	if limit == 0 || len(counts.Groups) <= limit {
		return
	}
	for _, g := range counts.Groups[limit:] {
		counts.Others += g.Count
	}
	counts.Groups = counts.Groups[:limit]
}

// printCounts prints a table with the largest groups first.
func printCounts(w io.Writer, counts *storage.Counts) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	head := append([]string{"COUNT"}, counts.By...)
	for i := range head {
		head[i] = strings.ToUpper(safe(head[i]))
	}
	if counts.Every > 0 {
		head = append(head, fmt.Sprintf("EACH %v FROM %s", counts.Every, counts.Since.UTC().Format(time.RFC3339)))
	}
	fmt.Fprintln(t, strings.Join(head, "\t"))
	for _, g := range counts.Groups {
		row := []string{probe.Number(int(g.Count))}
		for _, value := range g.Values {
			row = append(row, string(appendValue(nil, value)))
		}
		if counts.Every > 0 {
			row = append(row, sparkline(g.Parts))
		}
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	if counts.Others > 0 {
		fmt.Fprintf(t, "%s\tof others\n", probe.Number(int(counts.Others)))
	}
	return t.Flush()
}

// sparkline draws numbers as bars, scaled to the largest one.
func sparkline(numbers []int64) string {
	heights := []rune("▁▂▃▄▅▆▇█")
	most := max(slices.Max(numbers), 1)
	var b strings.Builder
	for _, n := range numbers {
		if n == 0 {
			b.WriteByte(' ')
			continue
		}
		b.WriteRune(heights[n*7/most])
	}
	return strings.TrimRight(b.String(), " ")
}
