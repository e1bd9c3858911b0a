package dash

import (
	"encoding/json"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// A view is the data of the templates: the page, and its reader.
type view struct {
	*page
	h    *handler
	name string // of the template
	load loader
	path map[string]string // the values in the path

	Path     string // below the prefix
	Query    url.Values
	ReadOnly bool
	Theme    string // "light", "dark", or "" for the system's theme
	Now      time.Time
	gzip     bool // the browser accepts gzip
	Live     bool // rendered for a page that is already shown, whose script writes the times
}

func (h *handler) view(r *http.Request, name string) *view {
	v := &view{h: h, name: name, Path: r.URL.Path, Query: r.URL.Query(), ReadOnly: h.ReadOnly(r), gzip: acceptsGzip(r), Now: time.Now(), page: &page{}}
	v.path = map[string]string{"id": r.PathValue("id")}
	if c, err := r.Cookie(themeCookie); err == nil && (c.Value == "light" || c.Value == "dark") {
		v.Theme = c.Value
	}
	return v
}

// Config returns the configuration of the dashboard.
func (v *view) Config() Config { return v.h.Config }

// Static returns the URL of a static file.
func (v *view) Static(name string) string {
	return v.h.Prefix + "/static/" + name + "?v=" + version(name)
}

// URL returns the URL of a page.
func (v *view) URL(path string) string { return v.h.Prefix + path }

// Here returns the URL of this page without the parameters that report the result of an action.
func (v *view) Here() string {
	q := url.Values{}
	for name, values := range v.Query {
		if !strings.HasPrefix(name, "did") {
			q[name] = values
		}
	}
	if len(q) == 0 {
		return v.Path
	}
	return v.Path + "?" + q.Encode()
}

// Frozen reports whether the page is not live.
func (v *view) Frozen() bool { return v.frozen }

// MostSearch is the time limit of a search for jobs.
func (v *view) MostSearch() string { return span(mostSearch) }

// Preview shows the start of args.
func (v *view) Preview(args json.RawMessage) string {
	if len(args) > 4<<10 {
		return bytesText(uint64(len(args))) + " of args"
	}
	return clip(string(v.h.masker.JSON(args)), 160)
}

// Mask hides secret values in a text.
func (v *view) Mask(text string) string { return v.h.masker.Text(text) }

// HasJobs and HasLogs report whether the dashboard has pages for jobs and for logs.
func (v *view) HasJobs() bool { return v.h.Store != nil }
func (v *view) HasLogs() bool { return v.h.Logs != nil }

// Can reports whether the reader may change anything.
func (v *view) Can() bool { return !v.ReadOnly }

// Ago shows how long ago a time was or how far away it is, with the time itself as a tooltip.
func (v *view) Ago(t time.Time) template.HTML {
	if t.IsZero() {
		return "–"
	}
	return v.clock("ago", t, ago(v.Now.Sub(t)))
}

// Due is Ago for the time of a future event: if it has passed, the event is due.
func (v *view) Due(t time.Time) template.HTML {
	if t.IsZero() {
		return "–"
	}
	return v.clock("due", t, due(v.Now.Sub(t)))
}

// Since shows how long something has been going on.
func (v *view) Since(t time.Time) template.HTML {
	if t.IsZero() {
		return "–"
	}
	return v.clock("since", t, span(v.Now.Sub(t)))
}

// clock returns an element whose text the script updates. It is empty for a page that is already shown, so that a part is sent
// only when something else changes.
func (v *view) clock(kind string, t time.Time, text string) template.HTML {
	if v.Live {
		text = ""
	}
	exact := t.UTC().Format("2006-01-02 15:04:05.000 UTC")
	return template.HTML(`<time data-` + kind + ` datetime="` + t.UTC().Format(time.RFC3339Nano) + `" title="` + exact + `">` + text + `</time>`)
}

// ThemePath is the path, below Config.Prefix, that the color theme button posts to. It changes nothing but a cookie of the
// reader's own browser: authentication in front of the dashboard should allow posts to it for everybody who may read.
const ThemePath = "/theme"

const themeCookie = "meanwhile_theme"

// theme sets the color theme for this browser.
func (h *handler) theme(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		h.fail(w, r, formError(err))
		return
	}
	theme := r.PostForm.Get("theme")
	if theme != "light" && theme != "dark" {
		theme = ""
	}
	c := &http.Cookie{
		Name: themeCookie, Value: theme, Path: h.Prefix + "/", MaxAge: 365 * 24 * 3600,
		HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode,
	}
	if theme == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
	http.Redirect(w, r, h.Prefix+backTo(r.PostForm.Get("back"), "/"), http.StatusSeeOther)
}

// backTo returns a path of the dashboard that a form names, and never another address.
func backTo(path, fallback string) string {
	u, err := url.Parse(path)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(u.Path, "/") ||
		strings.HasPrefix(u.Path, "//") || strings.ContainsAny(path, "\\\r\n") {
		return fallback
	}
	return (&url.URL{Path: u.Path, RawQuery: u.RawQuery}).String()
}
