package engine

import (
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
)

func (e *Engine) putDocument(r *http.Request) (answer, error) {
	text, err := readBody(r)
	if err != nil {
		return answer{}, err
	}
	return e.writeOne(r, "index", text)
}

func (e *Engine) deleteDocument(r *http.Request) (answer, error) {
	return e.writeOne(r, "delete", nil)
}

func (e *Engine) writeOne(r *http.Request, do string, text []byte) (answer, error) {
	x, err := e.index(r.PathValue("index"))
	if err != nil {
		return answer{}, err
	}
	w, err := newWrite(do, r.PathValue("id"), text)
	if err != nil {
		return answer{}, err
	}
	done, err := x.writes.Do(r.Context(), w)
	if err != nil {
		return answer{}, err
	}
	status := done.Status
	done.Status = 0
	return answer{status, done}, nil
}

func (e *Engine) document(r *http.Request) (answer, error) {
	x, err := e.index(r.PathValue("index"))
	if err != nil {
		return answer{}, err
	}
	id := r.PathValue("id")
	version, source, err := x.find(r.Context(), id)
	if errors.Is(err, sql.ErrNoRows) {
		return answer{http.StatusNotFound, map[string]any{"_index": x.name, "_id": id, "found": false}}, nil
	} else if err != nil {
		return answer{}, err
	}
	return answer{http.StatusOK, map[string]any{
		"_index": x.name, "_id": id, "_version": version, "found": true, "_source": json.RawMessage(source),
	}}, nil
}
