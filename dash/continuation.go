package dash

import (
	"context"
	"net/url"

	"github.com/meanwhile-go/meanwhile/job"
)

// goOnField is the form field with the ID of a continuation.
const goOnField = "go-on"

// A continuation is an action on many jobs of which a part is done. Its page continues it without asking again, so only the browser that did the part
// before gets its ID, and each ID is good for one part. With another ID, or at another process, the page asks first.
type continuation struct {
	stamp
	*target
	do     job.Action
	queued map[job.ID]standing // the queued jobs that it has changed or is about to change; nil if it cannot be undone
}

// question returns the page that continues by itself.
func (c *continuation) question() question {
	return question{
		Text: count(c.Done, "job") + " done. Go on?", Verb: "Go on", Danger: c.Danger, To: "/jobs/action", Hidden: append(c.hidden(), [2]string{goOnField, c.ID}),
		Back: c.back, Going: true, Done: c.Done, Total: c.total,
	}
}

// begin returns what a form is to do, as a continuation without an ID: a new action, or the next part of one. If the form has an ID that is not
// known, or not any more, begin returns the address of the page that asks instead.
func (h *handler) begin(ctx context.Context, form url.Values) (c *continuation, ask string, err error) {
	if c := h.partial.remove(form.Get(goOnField)); c != nil {
		t, s := *c.target, *c.search // other requests may still read those
		t.search = &s
		return &continuation{target: &t, do: c.do, queued: c.queued}, "", nil
	}
	t, err := h.readTarget(form)
	if err != nil {
		return nil, "", err
	}
	if form.Has(goOnField) {
		return nil, t.link(nil), nil
	}
	c = &continuation{target: t}
	if c.do, err = h.readAction(ctx, t); err != nil {
		return nil, "", err
	}
	c.queued, err = h.queuedBefore(ctx, t)
	return c, "", err
}

// next keeps the action for its next part, and returns the address of the page that continues it.
func (h *handler) next(c *continuation) string {
	return c.link(url.Values{goOnField: {h.partial.add(c)}})
}
