package dash

import (
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
)

// mostPlaces is how many queues, kinds and crons each the palette offers in addition to the pages.
const mostPlaces = 500

// A place is a target of the palette.
type place struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// palette loads the queues, kinds and crons that the palette links to.
func (h *handler) palette(ctx context.Context, v *view) (*page, error) {
	queues, err := h.allQueues(ctx)
	if err != nil {
		return nil, err
	}
	counts, err := h.cache.counts.get(ctx)
	if err != nil {
		return nil, err
	}
	crons, err := h.cache.crons.get(ctx)
	if err != nil {
		return nil, err
	}
	places := []place{}
	add := func(what, path, name string) {
		places = append(places, place{what + " " + name, v.URL(path + "?" + url.Values{"name": {name}}.Encode())})
	}
	for _, q := range queues[:min(len(queues), mostPlaces)] {
		add("Queue", "/queue", q.Name)
	}
	kinds := map[string]bool{}
	for _, c := range counts {
		kinds[c.Kind] = true
	}
	sorted := slices.Sorted(maps.Keys(kinds))
	for _, kind := range sorted[:min(len(sorted), mostPlaces)] {
		add("Kind", "/kind", kind)
	}
	for _, c := range crons[:min(len(crons), mostPlaces)] {
		add("Cron", "/cron", c.Name)
	}
	text, err := json.Marshal(places)
	return &page{raw: text}, err
}
