package dash

import (
	"bytes"
	"context"
	"errors"
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// A page is what a path shows.
type page struct {
	Title   string
	Section string // the entry of the navigation it belongs to
	Data    any    // for its templates
	status  int    // of the answer; zero is 200
	frozen  bool   // it is not live
	raw     []byte // JSON to send instead
}

// A loader reads from the store what a page shows.
type loader func(ctx context.Context, v *view) (*page, error)

// page serves a page by a template. A request for an event stream gets what changes on the page, see hub.
func (h *handler) page(path, name string, load loader) {
	h.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		v := h.view(r, name)
		v.load = load
		if len(parts[name]) > 0 && r.Header.Get("Accept") == "text/event-stream" {
			h.hub.serve(w, r, v)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), mostTime)
		defer cancel()
		p, err := load(ctx, v)
		if err != nil {
			h.fail(w, r, err)
			return
		}
		if p.raw != nil {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(p.raw) // the reader may be gone
			return
		}
		v.page, v.Now = p, time.Now()
		h.render(w, v)
	})
}

// fail shows an error as a page.
func (h *handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	v := h.view(r, "error")
	status, reason := http.StatusInternalServerError, ""
	switch refused, ok := errors.AsType[*refusal](err); {
	case ok:
		status, reason = refused.status, refused.reason
	case errors.Is(err, job.ErrNotFound):
		status, reason = http.StatusNotFound, "There is no such job. It may have been deleted."
	case errors.Is(err, context.DeadlineExceeded):
		status, reason = http.StatusServiceUnavailable, "The store did not answer within "+span(mostTime)+". Narrow what you look for, or try again."
	default:
		reason = "The store did not do what it was asked: " + h.masker.Text(err.Error())
	}
	v.page = &page{Title: http.StatusText(status), Data: reason, status: status, frozen: true}
	h.render(w, v)
}

func (h *handler) render(w http.ResponseWriter, v *view) {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, v.name+".html", v); err != nil {
		http.Error(w, "the page cannot be drawn: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Add("Vary", "Accept, Cookie")
	if v.page.status != 0 {
		w.WriteHeader(v.page.status)
	}
	_, _ = w.Write(b.Bytes()) // the reader may be gone
}

// fragments draws the parts of a page that may change, by the IDs of the elements they are in: each template whose name is
// that of the page, a colon, and the ID.
func (h *handler) fragments(ctx context.Context, v *view) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, mostTime)
	defer cancel()
	now := *v // which many requests share
	now.Live = true
	p, err := v.load(ctx, &now)
	if err != nil {
		return nil, err
	}
	now.page, now.Now = p, time.Now()
	drawn := map[string]string{}
	for _, id := range parts[v.name] {
		var b strings.Builder
		if err := templates.ExecuteTemplate(&b, v.name+":"+id, &now); err != nil {
			return nil, err
		}
		drawn[id] = b.String()
	}
	return drawn, nil
}

var (
	templates = template.Must(template.New("").Funcs(functions).ParseFS(files, "templates/*.html"))
	parts     = findParts()
)

// findParts returns the IDs of the live parts of each page.
func findParts() map[string][]string {
	found := map[string][]string{}
	for _, t := range templates.Templates() {
		if name, id, ok := strings.Cut(t.Name(), ":"); ok {
			found[name] = append(found[name], id)
		}
	}
	return found
}
