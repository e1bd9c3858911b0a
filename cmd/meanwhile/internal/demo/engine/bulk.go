package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

const mostBulk = 10_000 // writes

// A bulkWrite is one of the writes of a _bulk request, or why it is refused.
type bulkWrite struct {
	write
	index string
	err   error // why this write is refused; the others are executed
}

// parseBulk parses the lines of a _bulk request: an action, and except for a delete the document in the next line. If a line is
// not a valid action, the whole request is refused.
func parseBulk(text []byte, index string) ([]bulkWrite, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, malformed("request body is required")
	}
	var writes []bulkWrite
	lines := bytes.Split(text, []byte("\n"))
	for i := 0; i < len(lines); i++ {
		if len(bytes.TrimSpace(lines[i])) == 0 {
			continue
		}
		if len(writes) == mostBulk {
			return nil, malformed("more than [%d] actions", mostBulk)
		}
		w, id, err := parseAction(lines[i], index)
		if err != nil {
			return nil, malformed("line [%d]: %v", i+1, err)
		}
		var source []byte
		if w.do != "delete" {
			if i++; i >= len(lines) || len(bytes.TrimSpace(lines[i])) == 0 {
				return nil, malformed("line [%d]: the document is missing", i+1)
			}
			source = lines[i]
		}
		do := w.do
		if w.write, w.err = newWrite(do, id, source); w.err != nil {
			w.write = write{do: do, id: strings.ToValidUTF8(id[:min(len(id), longestID)], "")}
		}
		writes = append(writes, w)
	}
	return writes, nil
}

// parseAction parses a line such as {"index":{"_index":"go","_id":"fmt"}}.
func parseAction(line []byte, index string) (w bulkWrite, id string, err error) {
	var action map[string]struct {
		Index *string `json:"_index"`
		ID    string  `json:"_id"`
	}
	if json.Unmarshal(line, &action) != nil || len(action) != 1 {
		return w, "", errors.New("an action is an object with one field, [index], [create] or [delete]")
	}
	for do, on := range action {
		if do != "index" && do != "create" && do != "delete" {
			return w, "", fmt.Errorf("unknown action [%.50s], expected [index], [create] or [delete]", do)
		}
		w.do, w.index, id = do, index, on.ID
		if on.Index != nil {
			w.index = *on.Index
		}
	}
	return w, id, nil
}

func isBulk(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/_bulk") }

// bulk executes many writes. Each is independent, as in OpenSearch: some may be refused and others executed.
func (e *Engine) bulk(r *http.Request) (answer, error) {
	begun := time.Now()
	text, err := readBody(r)
	if err != nil {
		return answer{}, err
	}
	writes, err := parseBulk(text, r.PathValue("index"))
	if err != nil {
		return answer{}, err
	}
	items, failed := make([]map[string]written, len(writes)), false
	byIndex := map[string][]int{}
	for i, w := range writes {
		byIndex[w.index] = append(byIndex[w.index], i)
	}
	for name, all := range byIndex {
		x, err := e.index(name)
		var sound []write
		var places []int
		for _, i := range all {
			if w := writes[i]; err != nil || w.err != nil {
				items[i] = map[string]written{w.do: refusedItem(name, w, err)}
				failed = true
			} else {
				sound, places = append(sound, w.write), append(places, i)
			}
		}
		if len(sound) == 0 {
			continue
		}
		done, err := x.flush(r.Context(), sound)
		if err != nil {
			return answer{}, err
		}
		for k, i := range places {
			items[i] = map[string]written{writes[i].do: done[k]}
			failed = failed || done[k].Error != nil
		}
	}
	return answer{http.StatusOK, map[string]any{"took": time.Since(begun).Milliseconds(), "errors": failed, "items": items}}, nil
}

// refusedItem returns the response item of a write that was not executed. err is the error of its index, if it has one.
func refusedItem(index string, w bulkWrite, err error) written {
	if err == nil {
		err = w.err
	}
	refused := refusalOf(err)
	told := refused.failure()
	return written{Index: index, ID: w.id, Status: refused.status, Error: &told}
}
