package server

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/meanwhile-go/meanwhile/logs/filter"
)

// An Alert fires when many records match a filter within a time window, and is over when there are fewer again. Records of all
// inputs count when they are accepted, by the time at which they arrive; those that a [Limit] drops do not.
//
//	| state  | becomes | when                                                                       |
//	|--------|---------|----------------------------------------------------------------------------|
//	| quiet  | firing  | Count records have come within Window, and it has not fired for Quiet      |
//	| firing | quiet   | fewer than Count have come within Window: the alert is over                |
//
// Both are reported by a record of the service "meanwhile", which no alert counts, with the attributes alert, state and records. Counts
// are in memory: a server that restarts counts from zero.
type Alert struct {
	Name   string        // unique among the alerts of a server; at most 100 bytes
	Filter filter.Filter // which records count; the zero one: all
	Count  int           // so many within Window make it fire; at least 1
	Window time.Duration // from 1 s to 24 h; it is counted in parts of a sixtieth, and may be longer by one of them
	Quiet  time.Duration // since it last fired, in which it does not fire again; up to 30 days; default: Window

	// Notify is called when the alert fires and when it is over, by one task of the server, which waits for it: it must not
	// block. Nil: no call.
	Notify func(AlertEvent)
}

const (
	maxAlerts      = 100
	maxAlertName   = 100
	minAlertWindow = time.Second
	maxAlertWindow = 24 * time.Hour
	maxAlertQuiet  = 30 * 24 * time.Hour
)

// Check returns an error if the alert is invalid.
func (a *Alert) Check() error {
	switch {
	case a.Name == "":
		return errors.New("it has no name: give one, such as errors")
	case len(a.Name) > maxAlertName || !utf8.ValidString(a.Name) || strings.ContainsFunc(a.Name, unicode.IsControl):
		return fmt.Errorf("its name %.20q… has %d bytes or a control character: give a text of at most %d", a.Name, len(a.Name), maxAlertName)
	case a.Count < 1:
		return fmt.Errorf("count %d: give a number of records, from 1 on", a.Count)
	case a.Window < minAlertWindow || a.Window > maxAlertWindow:
		return fmt.Errorf("window %v: give a time from %v to %v", a.Window, minAlertWindow, maxAlertWindow)
	case a.Quiet < 0 || a.Quiet > maxAlertQuiet:
		return fmt.Errorf("quiet %v: give a time up to %v", a.Quiet, maxAlertQuiet)
	}
	return nil
}

// checkAlerts returns what is wrong with the alerts of a server.
func checkAlerts(alerts []Alert) error {
	if len(alerts) > maxAlerts {
		return fmt.Errorf("%d alerts: give at most %d", len(alerts), maxAlerts)
	}
	names := make(map[string]bool, len(alerts))
	for i := range alerts {
		a := &alerts[i]
		if err := a.Check(); err != nil {
			return fmt.Errorf("alert %.100q: %w", a.Name, err)
		}
		if names[a.Name] {
			return fmt.Errorf("alert %.100q: another one has this name: give each its own", a.Name)
		}
		names[a.Name] = true
	}
	return nil
}

// An AlertEvent reports that an alert fires, or is over.
type AlertEvent struct {
	Alert   *Alert
	Firing  bool      // false: it is over
	Time    time.Time // of the event
	Since   time.Time // when it fired
	Records int64     // that match: when it fires, within its window; when it is over, those and all since
}

// State returns "firing" or "over".
func (e *AlertEvent) State() string {
	if e.Firing {
		return "firing"
	}
	return "over"
}

// String returns the event as a sentence.
func (e *AlertEvent) String() string {
	what := fmt.Sprintf("%d records", e.Records)
	if e.Records == 1 {
		what = "1 record"
	}
	if text := e.Alert.Filter.String(); text != "" {
		what += " of " + text
	}
	if e.Firing {
		return fmt.Sprintf("alert %s fires: %s within %v", e.Alert.Name, what, e.Alert.Window)
	}
	return fmt.Sprintf("alert %s is over after %v: %s", e.Alert.Name, e.Time.Sub(e.Since).Round(time.Second), what)
}
