package dash

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"

	"github.com/meanwhile-go/meanwhile/job"
)

// mostEntries is the maximum number of audit log entries on a page.
const mostEntries = 50

// record writes an action to the audit log, unless it was refused before it changed anything.
func (h *handler) record(r *http.Request, done job.AuditEntry, err error) {
	_, refused := errors.AsType[*refusal](err)
	if done.Action == "" || refused {
		return
	}
	if err != nil {
		done.Error = err.Error()
	}
	done.Actor, done.Via = h.actor(r), "dashboard"
	done.Target, done.Error = h.masker.Text(done.Target), h.masker.Text(done.Error)
	job.Audit(r.Context(), h.Store, h.Logger, done)
}

// actor returns who sent a request.
func (h *handler) actor(r *http.Request) string { return cmp.Or(h.Actor(r), hostOf(r)) }

// hostOf returns the address that a request came from, without its port.
func hostOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// auditPage is the page with the audit log.
type auditPage struct {
	Entries []job.AuditEntry
	Older   string // the address of the next page, if there is one
	Newest  string // the address of the first page, on a later one
	Undos   []*undo
}

func (h *handler) audit(ctx context.Context, v *view) (*page, error) {
	before, err := strconv.ParseInt(cmp.Or(v.Query.Get("before"), "0"), 10, 64)
	if err != nil || before < 0 {
		return nil, refuse(http.StatusBadRequest, "%.40q is not the number of an entry.", v.Query.Get("before"))
	}
	entries, err := h.Store.Audited(ctx, before, mostEntries+1)
	if err != nil {
		return nil, err
	}
	d := &auditPage{Entries: entries}
	if before == 0 && !v.ReadOnly {
		d.Undos = h.undos.all()
	}
	if len(entries) > mostEntries {
		d.Entries = entries[:mostEntries]
		d.Older = v.URL("/audit?" + url.Values{"before": {strconv.FormatInt(d.Entries[mostEntries-1].N, 10)}}.Encode())
	}
	if before > 0 {
		d.Newest = v.URL("/audit")
	}
	for i := range d.Entries {
		if v.ReadOnly && d.Entries[i].Error != "" { // the error may name hosts and files
			d.Entries[i].Error = "failed"
		}
	}
	return &page{Title: "Audit log", Section: "audit", Data: d}, nil
}
