package engine

import (
	"context"
	"database/sql"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	defaultHits = 10
	mostHits    = 1000
	furthest    = 10_000 // maximum of from + size, as in OpenSearch
)

// searching is the body of a search.
type searching struct {
	Query     json.RawMessage `json:"query"`
	From      int             `json:"from"`
	Size      *int            `json:"size"`
	Highlight struct {
		Fields map[string]struct{} `json:"fields"`
	} `json:"highlight"`
}

type hit struct {
	Index     string              `json:"_index"`
	ID        string              `json:"_id"`
	Score     float64             `json:"_score"`
	Source    json.RawMessage     `json:"_source"`
	Highlight map[string][]string `json:"highlight,omitempty"`
}

func (e *Engine) search(r *http.Request) (answer, error) {
	begun := time.Now()
	x, err := e.index(r.PathValue("index"))
	if err != nil {
		return answer{}, err
	}
	text, err := readBody(r)
	if err != nil {
		return answer{}, err
	}
	var s searching
	if len(text) > 0 {
		if err := decode(text, &s); err != nil {
			return answer{}, err
		}
	}
	size := defaultHits
	if s.Size != nil {
		size = *s.Size
	}
	if s.From < 0 || size < 0 || size > mostHits || s.From > furthest-size {
		return answer{}, malformed("from [%d] and size [%d]: give a size up to %d, and together up to %d", s.From, size, mostHits, furthest)
	}
	q, err := x.parseQuery(s.Query)
	if err != nil {
		return answer{}, err
	}
	var highlighted []string
	for name := range s.Highlight.Fields {
		highlighted = append(highlighted, name)
	}
	total, hits, err := x.search(r.Context(), q, s.From, size, highlighted)
	if err != nil {
		return answer{}, err
	}
	var best any
	if len(hits) > 0 && s.From == 0 {
		best = hits[0].Score
	}
	return answer{http.StatusOK, map[string]any{
		"took": time.Since(begun).Milliseconds(), "timed_out": false,
		"hits": map[string]any{
			"total":     map[string]any{"value": total, "relation": "eq"},
			"max_score": best,
			"hits":      hits,
		},
	}}, nil
}

// search returns how many documents match, and some of them, best matches first.
func (x *index) search(ctx context.Context, q query, from, size int, highlighted []string) (total int, hits []hit, err error) {
	switch {
	case q.nothing:
		return 0, []hit{}, nil
	case q.match == "":
		if total, err = x.count(ctx); err != nil {
			return 0, nil, err
		}
		hits, err = x.hits(ctx, allSQL, []any{size, from}, nil)
		return total, hits, err
	}
	if err := x.reads.QueryRowContext(ctx, searchCountSQL, q.match).Scan(&total); err != nil {
		return 0, nil, err
	}
	args := []any{q.match}
	for _, weight := range q.weights {
		args = append(args, weight)
	}
	hits, err = x.hits(ctx, searchSQL, append(args, size, from), highlighted)
	return total, hits, err
}

// hits reads the documents that a statement returns, with score and snippets if it returns more columns.
func (x *index) hits(ctx context.Context, statement string, args []any, highlighted []string) ([]hit, error) {
	rows, err := x.reads.QueryContext(ctx, statement, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	hits := []hit{}
	for rows.Next() {
		h := hit{Index: x.name, Score: 1}
		var source string
		var snippets [mostFields]sql.NullString
		into := []any{&h.ID, &source, &h.Score}
		for i := range snippets {
			into = append(into, &snippets[i])
		}
		if err := rows.Scan(into[:len(columns)]...); err != nil {
			return nil, err
		}
		h.Source = json.RawMessage(source)
		for i, name := range x.fields {
			if slices.Contains(highlighted, name) && strings.Contains(snippets[i].String, "<em>") {
				if h.Highlight == nil {
					h.Highlight = map[string][]string{}
				}
				h.Highlight[name] = []string{snippets[i].String}
			}
		}
		hits = append(hits, h)
	}
	return hits, rows.Err()
}
