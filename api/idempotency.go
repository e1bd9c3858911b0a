package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

const (
	idempotencyHeader = "Idempotency-Key"
	idempotencyMeta   = "idempotency.body" // key of Meta for the hash of the body by which a job was enqueued
	idempotencyTime   = 24 * time.Hour     // how long a key is held
	mostIdempotency   = 255                // bytes of the header
)

// idempotencyKey returns the key of a request, "" for none. The draft of the IETF puts it in quotes, which most programs leave out.
func idempotencyKey(r *http.Request) (string, error) {
	given := r.Header.Values(idempotencyHeader)
	switch {
	case len(given) == 0:
		return "", nil
	case len(given) > 1:
		return "", refuse(http.StatusBadRequest, "%s: give it once", idempotencyHeader)
	case given[0] == "" || given[0] == `""`:
		return "", refuse(http.StatusBadRequest, "%s: it is empty: give a new UUID for each job, and the same for each time that the request is sent again", idempotencyHeader)
	case len(given[0]) > mostIdempotency:
		return "", refuse(http.StatusBadRequest, "%s: it has %d bytes, at most %d are allowed", idempotencyHeader, len(given[0]), mostIdempotency)
	}
	return unquote(given[0])
}

// unquote removes the quotes around a key that is not empty.
func unquote(key string) (string, error) {
	inner, opened := strings.CutPrefix(key, `"`)
	inner, closed := strings.CutSuffix(inner, `"`)
	if opened != closed {
		return "", refuse(http.StatusBadRequest, "%s: %.40s has a quote at one end only: give it with quotes at both ends, or at none", idempotencyHeader, key)
	}
	return inner, nil
}

// hashText returns 128 bits of the SHA-256 of a text.
func hashText(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// idempotent returns the options that enqueue a job only once for a key. The job must have no other unique key.
func idempotent(key string, body []byte) []job.EnqueueOption {
	return []job.EnqueueOption{
		job.Unique("idempotency " + hashText([]byte(key))), job.UniqueFor(idempotencyTime), job.Meta(idempotencyMeta, hashText(body)),
	}
}

// checkSameBody refuses a key whose job was enqueued by another body. A job that was deleted while its key is held is not compared.
func (a *API) checkSameBody(ctx context.Context, id job.ID, body []byte) error {
	first, err := job.Find(ctx, a.config.Store, id)
	switch {
	case errors.Is(err, job.ErrNotFound):
		return nil
	case err != nil:
		return err
	case first.Meta[idempotencyMeta] != hashText(body):
		return refuse(http.StatusUnprocessableEntity, "%s: it came with another body before, for job %v: give each job a key of its own", idempotencyHeader, id)
	}
	return nil
}
