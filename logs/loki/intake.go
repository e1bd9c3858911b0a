package loki

import (
	"context"
	"fmt"
	"slices"

	"github.com/meanwhile-go/meanwhile/internal/body"
	"github.com/meanwhile-go/meanwhile/internal/severity"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/input"
)

// Service is the service of entries whose labels name none.
const Service = "loki"

// Bounds of one stream and of one entry.
const (
	maxPairs  = 500      // labels of a stream, and pairs of structured metadata of an entry
	maxLabels = 32 << 10 // bytes of the labels of a stream, which each of its records has
)

// A malformedError describes why a request is malformed.
type malformedError struct{ text string }

func (e *malformedError) Error() string { return "malformed: " + e.text }

func malformed(format string, args ...any) error {
	return &malformedError{fmt.Sprintf(format, args...)}
}

// An intake decodes one request, and adds its records to a batcher.
type intake struct {
	ctx     context.Context
	to      input.Batcher
	records int
	waiting body.Waiting // since the last flush

	labels  labels // of the stream
	view    logs.View
	leveled bool // whether the labels or the metadata have a level
}

// A pair is a label, or a name and value of structured metadata.
type pair struct{ key, value string }

// labels are the labels of a stream, as parts of its records.
type labels struct {
	service string
	named   bool      // whether the service is from a label that has no other meaning, and does not become an attribute
	leveled bool      // whether they have a level
	view    logs.View // a record with the level and the attributes
}

// serviceLabels are the labels that may name the service, in order of precedence. The first two have no other meaning, so that they do not
// become attributes if they name it.
var serviceLabels = []string{
	"service_name", "service", "app", "application", "app_kubernetes_io_name", "container", "container_name", "component", "job",
}

// stream sets the labels for the entries that follow.
func (in *intake) stream(pairs []pair) error {
	size := 0
	in.labels = labels{service: Service}
	best := len(serviceLabels)
	for _, p := range pairs {
		size += len(p.key) + len(p.value)
		if i := slices.Index(serviceLabels, p.key); i >= 0 && i < best && p.value != "" {
			best, in.labels.service = i, p.value
		}
	}
	if size > maxLabels {
		return malformed("the labels of a stream have more than %d KiB", maxLabels>>10)
	}
	in.labels.named = best < 2
	in.view.Reset()
	in.leveled = false
	for _, p := range pairs {
		if !in.labels.named || p.key != serviceLabels[best] {
			in.add(p)
		}
	}
	in.labels.leveled = in.leveled
	in.labels.view, in.view = in.view, logs.View{}
	return nil
}

// entry adds the record of one entry of the stream.
func (in *intake) entry(nanoseconds int64, line string, metadata []pair) error {
	v := &in.view
	v.Reset()
	v.AddEncodedAttrs(in.labels.view.EncodedAttrs())
	v.Time, v.Level, v.Message, v.Service = max(0, nanoseconds), in.labels.view.Level, []byte(line), []byte(in.labels.service)
	in.leveled = in.labels.leveled
	for _, p := range metadata {
		if p.key == serviceLabels[0] && !in.labels.named && p.value != "" {
			v.Service = []byte(p.value)
			continue
		}
		in.add(p)
	}
	full := in.waiting.Add(len(line) + len(v.EncodedAttrs()))
	in.to.Add(v)
	in.records++
	if !full {
		return nil
	}
	return in.to.Flush(in.ctx)
}

// add adds a pair to the record: as its level, or as an attribute.
func (in *intake) add(p pair) {
	switch p.key {
	case "level", "detected_level", "severity":
		if level, ok := severity.Level([]byte(p.value)); ok && (!in.leveled || p.key == "level") {
			in.view.Level, in.leveled = level, true
			return
		}
	}
	in.view.AddText([]byte(p.key), []byte(p.value))
}
