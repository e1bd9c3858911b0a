package dash

import "strings"

// An update is what a page was from a drawing on at which it had changed. It is never changed itself, but for first.
type update struct {
	n     int // of the updates before it
	parts map[string]string
	news  *event // the parts that have changed since the update before
	first *event // all parts, for those who come now; made when somebody does
}

// since returns what has changed since an update, nil is none. Whoever has the one before is sent what others are.
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

// changed returns the parts that differ from those that were sent. Of a list to whose beginning rows were added, it returns
// these alone, as a part with "+" behind its ID.
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

// rowBegin is what a part begins with that is nothing but rows.
const rowBegin = "<tr data-id="

// addedRows returns the rows that a list has before those that it had. It may have lost some at its end.
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
