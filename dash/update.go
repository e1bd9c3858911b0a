package dash

import "strings"

// An update is a version of a page, created by a rendering in which the page has changed. It is immutable except for first.
type update struct {
	n     int // number of previous updates
	parts map[string]string
	news  *event // the parts that have changed since the previous update
	first *event // all parts, for new readers; created for the first of them
}

// since returns the changes since an update; nil stands for none. Readers that have the previous update share one event.
func (u *update) since(sent *update) *event {
	switch {
	case sent == u:
		return nil
	case sent == nil:
		if u.first == nil {
			u.first = dataEvent("parts", u.parts)
		}
		return u.first
	case sent.n+1 == u.n:
		return u.news
	}
	found := changed(sent.parts, u.parts)
	if len(found) == 0 {
		return nil
	}
	return dataEvent("parts", found)
}

// changed returns the parts that differ from those that were sent. If rows were added at the start of a list, it returns only
// these, as a part with "+" after its ID.
func changed(sent, parts map[string]string) map[string]string {
	news := map[string]string{}
	for id, html := range parts {
		old, ok := sent[id]
		if rows, isLonger := addedRows(old, html); isLonger {
			news[id+"+"] = rows
		} else if !ok || old != html {
			news[id] = html
		}
	}
	return news
}

// rowBegin is the start of a part that consists only of rows.
const rowBegin = "<tr data-id="

// addedRows returns the rows that were added at the start of a list. The list may have lost some at its end.
func addedRows(old, html string) (rows string, ok bool) {
	if !strings.HasPrefix(old, rowBegin) || !strings.HasPrefix(html, rowBegin) {
		return "", false
	}
	first := old
	if i := strings.Index(old[1:], rowBegin); i >= 0 {
		first = old[:i+1]
	}
	n := strings.Index(html, first)
	if n <= 0 || !strings.HasPrefix(old, html[n:]) {
		return "", false
	}
	return html[:n], true
}
