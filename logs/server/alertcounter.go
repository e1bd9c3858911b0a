package server

import (
	"cmp"
	"log/slog"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/filter"
)

// An alertCounter counts the records that match an alert. Its methods may be called concurrently.
type alertCounter struct {
	filter filter.Filter

	mu         sync.Mutex
	alert      Alert // its Quiet and Notify change when the settings are reloaded
	began      time.Time
	window     countWindow
	firing     bool
	unreported bool      // whether it fires, and that was not reported yet
	since      time.Time // when it fired last; zero: never
	records    int64     // matching records since it fires, and in the window before that
	fired      int64     // how often it has fired
}

func newAlertCounter(a Alert) *alertCounter {
	return &alertCounter{filter: a.Filter, alert: a, began: time.Now(), window: newCountWindow(a.Window)}
}

// reuse makes the counter that of an alert in reloaded settings. It returns false if that alert counts other records.
func (c *alertCounter) reuse(a Alert) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.Name != c.alert.Name || a.Filter.String() != c.alert.Filter.String() || a.Count != c.alert.Count || a.Window != c.alert.Window {
		return false
	}
	c.alert = a
	return true
}

// add counts n records that arrived at now.
func (c *alertCounter) add(n int64, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.window.add(n, now.Sub(c.began)) // by the monotonic clock
	if c.firing {
		c.records += n
	}
	c.fire(now)
}

// fire makes the alert fire if it is due. The lock is held.
func (c *alertCounter) fire(now time.Time) {
	quiet := cmp.Or(c.alert.Quiet, c.alert.Window)
	if c.firing || c.window.total < int64(c.alert.Count) || !c.since.IsZero() && now.Sub(c.since) < quiet {
		return
	}
	c.firing, c.unreported, c.since, c.records = true, true, now, c.window.total
	c.fired++
}

// events returns the events until now that were not returned before.
func (c *alertCounter) events(now time.Time) (all []AlertEvent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.window.advance(now.Sub(c.began))
	c.fire(now) // it may be due since the quiet time is over
	alert := c.alert
	if c.unreported {
		all = append(all, AlertEvent{Alert: &alert, Firing: true, Time: c.since, Since: c.since, Records: c.records})
		c.unreported = false
	}
	if c.firing && c.window.total < int64(c.alert.Count) {
		all = append(all, AlertEvent{Alert: &alert, Time: now, Since: c.since, Records: c.records})
		c.firing = false
	}
	return all
}

// view returns the record of an event.
func (e *AlertEvent) view() (v logs.View) {
	v.Service, v.Level, v.Message = []byte(alertService), slog.LevelInfo, []byte(e.String())
	if e.Firing {
		v.Level = slog.LevelWarn
	}
	for _, a := range []slog.Attr{slog.String("alert", e.Alert.Name), slog.String("state", e.State()), slog.Int64("records", e.Records)} {
		v.AddAttr(a)
	}
	return v
}

// alertService is the service of the records of alerts.
const alertService = "meanwhile"

// stats returns the state of the alert.
func (c *alertCounter) stats() AlertStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.window.advance(time.Since(c.began))
	st := AlertStats{
		Name: c.alert.Name, Filter: c.alert.Filter.String(), Count: c.alert.Count, Window: c.alert.Window.String(),
		Firing: c.firing, Records: c.window.total, Fired: c.fired,
	}
	if c.firing {
		since := c.since
		st.Since = &since
	}
	return st
}

// matches counts records that match alerts until it is known that they are accepted.
type matches map[*alertCounter]int64

// add counts a record for each of the alerts that it matches.
func (m *matches) add(alerts []*alertCounter, v *logs.View) {
	for _, c := range alerts {
		if c.filter.Match(v) {
			if *m == nil {
				*m = matches{}
			}
			(*m)[c]++
		}
	}
}

// accepted adds the counts to the alerts, once the records are accepted.
func (m matches) accepted() {
	if len(m) == 0 {
		return
	}
	now := time.Now()
	for c, n := range m {
		c.add(n, now)
	}
	clear(m)
}
