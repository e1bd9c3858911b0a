package dash

import (
	"context"
	"net/http"
	"net/url"

	"github.com/meanwhile-go/meanwhile/job"
)

const mostOwn = 20 // keys with their own limits that the page of a queue shows

// ownLimits returns the first keys of a queue that have their own limits, and how many others there are.
func (h *handler) ownLimits(ctx context.Context, queue string, use job.LimitUse) (own []job.Override, more int, err error) {
	if use.Overrides == 0 {
		return nil, 0, nil
	}
	own, err = h.overrides.get(queue, func() ([]job.Override, error) { return h.Store.Overrides(ctx, queue, "", mostOwn) })
	return own, max(use.Overrides-len(own), 0), err
}

// removeLimits removes the limits of one key, and redirects to the page of the queue, which offers to undo it.
func (h *handler) removeLimits(ctx context.Context, r *http.Request, queue string, done *job.AuditEntry) (string, error) {
	key := r.PostForm.Get("key")
	if err := job.CheckKeyLimits(queue, key, job.KeyLimits{}); err != nil {
		return "", refuse(http.StatusBadRequest, "Remove limits: %v.", err)
	}
	*done = job.AuditEntry{Action: "set limits of key", Target: queue + " " + key + " " + job.KeyLimits{}.String(), Changed: 1}
	back := "/queue?" + url.Values{"name": {queue}, "did-text": {"limits-gone"}}.Encode()
	uses, err := h.Store.Limits(ctx, queue, key)
	if err != nil {
		return "", err
	}
	before := uses[0].Own
	if err := h.setKeyLimits(ctx, queue, key, job.KeyLimits{}); err != nil || before == (job.KeyLimits{}) {
		return back, err
	}
	entry := *done
	entry.Actor = h.actor(r)
	id := h.undos.add(&undo{Entry: entry, run: func(ctx context.Context) (job.ActionResult, error) {
		if now, err := h.Store.Limits(ctx, queue, key); err != nil || now[0].Own != (job.KeyLimits{}) {
			return job.ActionResult{}, err
		}
		return job.ActionResult{Changed: 1}, h.setKeyLimits(ctx, queue, key, before)
	}})
	return withQuery(back, url.Values{"did-undo": {id}}), nil
}

// setKeyLimits sets limits of a key, and drops cached values so that pages show them immediately.
func (h *handler) setKeyLimits(ctx context.Context, queue, key string, l job.KeyLimits) error {
	err := h.Store.SetKeyLimits(ctx, queue, key, l)
	for _, of := range []string{"", key} {
		h.limitUses.forget(limitUseOf(queue, of))
	}
	h.overrides.forget(queue)
	return err
}
