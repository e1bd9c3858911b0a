package live

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

const (
	defaultMax = 10_000
	mostMax    = 1_000_000
)

// A query is what a GET requests.
type query struct {
	max    int
	json   bool
	detail bool
	task   uint32 // if detail
	waits  bool   // the wait profile
	pprof  bool   // of waits
	leaks  bool   // the goroutine leak profile
}

func readQuery(r *http.Request) (query, error) {
	q := query{max: defaultMax}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return q, refuse(http.StatusBadRequest, "the query cannot be read: write name=value, joined by & and escaped by %")
	}
	if values.Has("max") {
		max, err := strconv.Atoi(values.Get("max"))
		if err != nil || max < 1 || max > mostMax {
			return q, refuse(http.StatusBadRequest, "max must be a number from 1 to "+strconv.Itoa(mostMax))
		}
		q.max = max
	}
	if values.Has("task") {
		q.detail = true
		if q.task, err = readID("task", values.Get("task")); err != nil {
			return q, err
		}
	}
	q.waits = values.Has("waits")
	if q.waits && q.detail {
		return q, refuse(http.StatusBadRequest, "ask for waits, which are those of all tasks, or for a task")
	}
	q.leaks = values.Has("leaks")
	if q.leaks && (q.waits || q.detail) {
		return q, refuse(http.StatusBadRequest, "ask for leaks, which are those of the whole program, or for waits, or for a task")
	}
	format := values.Get("format")
	switch {
	case !values.Has("format"):
		q.json = acceptsJSON(r)
	case format == "json":
		q.json = true
	case format == "text" && q.detail:
		return q, refuse(http.StatusBadRequest, "format must be json for a task, or left out")
	case format == "pprof" && q.waits:
		q.pprof = true
	case format != "text" && q.waits:
		return q, refuse(http.StatusBadRequest, "format must be json, text or pprof")
	case format != "text":
		return q, refuse(http.StatusBadRequest, "format must be json or text")
	}
	return q, nil
}

// readID reads the number of a task. The error does not contain the value: it could be a token in the wrong place.
func readID(name, value string) (uint32, error) {
	id, err := strconv.ParseUint(value, 10, 32)
	if err != nil {
		return 0, refuse(http.StatusBadRequest, name+" must be the number of a task, as the field id of its JSON has it")
	}
	return uint32(id), nil
}

// acceptsJSON reports whether the request names JSON in its Accept header; */* means text.
func acceptsJSON(r *http.Request) bool {
	for _, line := range r.Header.Values("Accept") {
		for kind := range strings.SplitSeq(line, ",") {
			kind, _, _ = strings.Cut(kind, ";")
			if strings.EqualFold(strings.TrimSpace(kind), "application/json") {
				return true
			}
		}
	}
	return false
}
