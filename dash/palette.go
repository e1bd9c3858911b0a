package dash

import (
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
)

// mostPlaces are offered by the palette beside the pages.
const mostPlaces = 500

// A place is what the palette leads to.
type place struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// palette lists the queues, kinds and crons, whose pages the palette leads to.
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
	for _, q := range queues {
		add("Queue", "/queue", q.Name)
	}
	kinds := map[string]bool{}
	for _, c := range counts {
		kinds[c.Kind] = true
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		add("Kind", "/kind", kind)
	}
	for _, c := range crons {
		add("Cron", "/cron", c.Name)
	}
	text, err := json.Marshal(places[:min(len(places), mostPlaces)])
	return &page{raw: text}, err
}
