package api

import (
	"cmp"
	"net"
	"net/http"
	"net/url"
	"strconv"

	"github.com/meanwhile-go/meanwhile/job"
)

// How many entries of the audit log are on a page.
const (
	usualEntries = 50
	mostEntries  = 1000
)

// audit shows the entries of the audit log, the newest first.
func (a *API) audit(w http.ResponseWriter, r *http.Request) error {
	query, err := readQuery(r)
	if err != nil {
		return err
	}
	before, err := number(query, "before", 0, 1, 1<<62)
	if err != nil {
		return err
	}
	limit, err := number(query, "limit", usualEntries, 1, mostEntries)
	if err != nil {
		return err
	}
	if err := checkRest(query); err != nil {
		return err
	}
	entries, err := a.config.Store.Audited(r.Context(), before, int(limit)+1)
	if err != nil {
		return err
	}
	answer := map[string]any{}
	if len(entries) > int(limit) {
		entries = entries[:limit]
		answer["next"] = entries[limit-1].N
	}
	for i := range entries {
		if entries[i].Error != "" && a.config.ReadOnly(r) { // the error may name hosts and files
			entries[i].Error = "failed"
		}
	}
	answer["entries"] = list(entries)
	return writeJSON(w, http.StatusOK, answer)
}

// number reads a number of a query; otherwise is returned if there is none.
func number(query url.Values, name string, otherwise, low, high int64) (int64, error) {
	text, err := single(query, name)
	if err != nil || text == "" {
		return otherwise, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < low || n > high {
		return 0, refuse(http.StatusUnprocessableEntity, "%s %.20q: give a number from %d to %d", name, text, low, high)
	}
	return n, nil
}

// record writes an action to the audit log. It is called for actions that were done, or failed after they had started.
func (a *API) record(r *http.Request, done job.AuditEntry, err error) {
	if err != nil {
		done.Error = err.Error()
	}
	host, _, splitErr := net.SplitHostPort(r.RemoteAddr)
	if splitErr != nil {
		host = r.RemoteAddr
	}
	done.Actor, done.Via = cmp.Or(a.config.Actor(r), host), "api"
	done.Target, done.Error = a.mask.Text(done.Target), a.mask.Text(done.Error)
	job.Audit(r.Context(), a.config.Store, a.config.Logger, done)
}
