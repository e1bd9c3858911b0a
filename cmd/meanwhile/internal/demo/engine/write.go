package engine

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

const longestID = 512 // bytes, as in OpenSearch

// A write is an operation on one document.
type write struct {
	do     string // "index", "create" or "delete"
	id     string
	source json.RawMessage
}

// written is the result of a write.
type written struct {
	Index   string   `json:"_index"`
	ID      string   `json:"_id"`
	Version int64    `json:"_version,omitempty"`
	Result  string   `json:"result,omitempty"`
	Status  int      `json:"status,omitempty"` // in the response to a _bulk request
	Error   *failure `json:"error,omitempty"`
}

// newWrite validates a write. If an index operation has no ID, it generates one.
func newWrite(do, id string, source []byte) (write, error) {
	if id == "" && do != "delete" {
		id = rand.Text()
	}
	if id == "" || len(id) > longestID {
		return write{}, refuse(http.StatusBadRequest, "illegal_argument_exception", "an ID of [%d] bytes: give 1 to %d", len(id), longestID)
	}
	if do == "delete" {
		return write{do: do, id: id}, nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(source, &fields); err != nil || fields == nil {
		return write{}, refuse(http.StatusBadRequest, "mapper_parsing_exception", "failed to parse: a document is a JSON object")
	}
	return write{do: do, id: id, source: source}, nil
}

// flush executes the writes of several requests in one transaction.
func (x *index) flush(ctx context.Context, writes []write) ([]written, error) {
	tx, err := x.writer.BeginTx(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("write to index %s: %w", x.name, err)
	}
	defer func() { _ = tx.Rollback() }()
	done := make([]written, len(writes))
	for i, w := range writes {
		if done[i], err = x.write(ctx, tx, w); err != nil {
			return nil, fmt.Errorf("write to index %s: %w", x.name, err)
		}
	}
	return done, tx.Commit()
}

// write executes one write. Its error is a database error; a refusal is in its result.
func (x *index) write(ctx context.Context, tx *sql.Tx, w write) (written, error) {
	done := written{Index: x.name, ID: w.id}
	statement, args := putSQL, []any{w.id, string(w.source), w.do == "index"}
	if w.do == "delete" {
		statement, args = deleteSQL, []any{w.id}
	}
	var n int64
	switch err := tx.QueryRowContext(ctx, statement, args...).Scan(&n, &done.Version); {
	case errors.Is(err, sql.ErrNoRows) && w.do == "delete":
		done.Result, done.Status = "not_found", http.StatusNotFound
		return done, nil
	case errors.Is(err, sql.ErrNoRows):
		refused := refusal{http.StatusConflict, "version_conflict_engine_exception", fmt.Sprintf("[%s]: version conflict, document already exists", w.id)}
		told := refused.failure()
		done.Status, done.Error = refused.status, &told
		return done, nil
	case err != nil:
		return done, err
	}
	done.Result, done.Status = "updated", http.StatusOK
	switch {
	case w.do == "delete":
		done.Result = "deleted"
		done.Version++
	case done.Version == 1:
		done.Result, done.Status = "created", http.StatusCreated
	}
	if done.Version > 1 {
		if _, err := tx.ExecContext(ctx, wordsDeleteSQL, n); err != nil {
			return done, err
		}
	}
	if w.do == "delete" {
		return done, nil
	}
	_, err := tx.ExecContext(ctx, wordsPutSQL, append([]any{n}, x.words(w.source)...)...)
	return done, err
}

// words returns the text of each column: a string, or the strings of a list.
func (x *index) words(source []byte) []any {
	var fields map[string]any
	_ = json.Unmarshal(source, &fields) // it was validated before
	words := make([]any, mostFields)
	for i, name := range x.fields {
		switch value := fields[name].(type) {
		case string:
			words[i] = value
		case []any:
			var all []string
			for _, v := range value {
				if s, ok := v.(string); ok {
					all = append(all, s)
				}
			}
			words[i] = strings.Join(all, "\n")
		}
	}
	return words
}
