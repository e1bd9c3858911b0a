package dash

import (
	"bytes"
	"context"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// A page is the content of a path.
type page struct {
	Title   string
	Section string // the entry of the navigation that it belongs to
	Data    any    // for its templates
	status  int    // of the response; zero is 200
	frozen  bool   // the page is not live
	raw     []byte // JSON to send instead
}

// A loader reads the content of a page from the store.
type loader func(ctx context.Context, v *view) (*page, error)

// page serves a page with a template. A request for an event stream gets the changes of the page, see hub.
func (h *handler) page(path, name string, load loader) {
	h.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		if q, changed := withoutEmpty(r.URL.Query()); changed {
			to := url.URL{Path: h.Prefix + r.URL.Path, RawQuery: q.Encode()}
			http.Redirect(w, r, to.String(), http.StatusFound)
			return
		}
		v := h.view(r, name)
		v.load = load
		if len(parts()[name]) > 0 && r.Header.Get("Accept") == "text/event-stream" {
			h.hub.serve(w, r, v)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), v.time())
		defer cancel()
		p, err := load(ctx, v)
		if err != nil {
			h.fail(w, r, err)
			return
		}
		if p.raw != nil {
			w.Header().Set("Content-Type", "application/json")
			h.send(w, v, p.raw)
			return
		}
		v.page, v.Now = p, time.Now()
		h.render(w, v)
	})
}

// withoutEmpty removes fields that a form sends empty, so that the URL of a search has only the fields that are set.
func withoutEmpty(q url.Values) (left url.Values, changed bool) {
	left = url.Values{}
	for name, values := range q {
		for _, value := range values {
			if changed = changed || value == ""; value != "" {
				left.Add(name, value)
			}
		}
	}
	return left, changed
}

// fail shows an error as a page.
func (h *handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	v := h.view(r, "error")
	if again, ok := errors.AsType[*askedAgain](err); ok {
		v.name = "confirm"
		v.page = &page{Title: again.Text, Section: "jobs", Data: again.question, status: again.refused.status, frozen: true}
		h.render(w, v)
		return
	}
	if again, ok := errors.AsType[*clonedAgain](err); ok {
		v.name = "clone"
		v.page = &page{Title: "Clone " + again.form.Kind, Section: "jobs", Data: &again.form, status: again.status, frozen: true}
		h.render(w, v)
		return
	}
	status, reason := v.reason(err)
	v.page = &page{Title: statusText(status), Data: reason, status: status, frozen: true}
	h.render(w, v)
}

// reason returns how to report an error to the reader, and its status.
func (v *view) reason(err error) (status int, text string) {
	refused, ok := errors.AsType[*refusal](err)
	switch {
	case ok:
		return refused.status, refused.reason
	case errors.Is(err, job.ErrNotFound):
		return http.StatusNotFound, "There is no such job. It may have been deleted."
	}
	return http.StatusServiceUnavailable, v.trouble(err)
}

// time returns the time limit for loading a page.
func (v *view) time() time.Duration {
	if v.name == "logs" {
		return mostTime
	}
	return mostPage
}

// trouble describes an error of a store to the reader. The text of the error may name hosts and files, so it is shown only to those who may change
// something.
func (v *view) trouble(err error) string {
	late := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errLate)
	switch {
	case late && v.Path == "/logs":
		return "The records were not found in time. Narrow what you look for, or try again."
	case late:
		return "The store did not answer in time. Try again."
	case v.ReadOnly:
		return "The store does not answer, or returned an error. The reason is shown to those who may change something here."
	}
	return "The store returned an error: " + v.Mask(err.Error())
}

// statusText returns the text of a status, with the capitalization of the pages' headings.
func statusText(status int) string {
	text := http.StatusText(status)
	return text[:1] + strings.ToLower(text[1:])
}

func (h *handler) render(w http.ResponseWriter, v *view) {
	var b bytes.Buffer
	if err := templates().ExecuteTemplate(&b, v.name+".html", v); err != nil {
		http.Error(w, "the page cannot be drawn: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Add("Vary", "Accept, Cookie")
	h.send(w, v, b.Bytes())
}

// send sends a whole response, compressed if the browser accepts that.
func (h *handler) send(w http.ResponseWriter, v *view, text []byte) {
	w.Header().Add("Vary", "Accept-Encoding")
	if v.gzip {
		w.Header().Set("Content-Encoding", "gzip")
		text = gzipped(text)
	}
	if v.page.status != 0 {
		w.WriteHeader(v.page.status)
	}
	_, _ = w.Write(text) // the client may have disconnected
}

// fragments renders the parts of a page that may change, by the IDs of their elements: each template whose name consists of the page's name, a colon,
// and the ID.
func (h *handler) fragments(ctx context.Context, v *view) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, v.time())
	defer cancel()
	now := *v // many requests share v
	now.Live = true
	p, err := v.load(ctx, &now)
	if err != nil {
		return nil, err
	}
	now.page, now.Now = p, time.Now()
	drawn := map[string]string{}
	for _, id := range parts()[v.name] {
		var b strings.Builder
		if err := templates().ExecuteTemplate(&b, v.name+":"+id, &now); err != nil {
			return nil, err
		}
		drawn[id] = b.String()
	}
	return drawn, nil
}

// templates are parsed when the first page is rendered: some programs never show one.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(functions).ParseFS(files, "templates/*.html"))
})

// parts are the IDs of the live parts of each page.
var parts = sync.OnceValue(func() map[string][]string {
	found := map[string][]string{}
	for _, t := range templates().Templates() {
		if name, id, ok := strings.Cut(t.Name(), ":"); ok {
			found[name] = append(found[name], id)
		}
	}
	return found
})
