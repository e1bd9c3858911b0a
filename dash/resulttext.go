package dash

import (
	"strconv"
	"strings"
)

// Told returns the result of the action that led to this page, or "".
func (v *view) Told() string {
	if text := v.Query.Get("did-text"); text != "" {
		return resultTexts[text]
	}
	n := func(name string) int64 {
		n, _ := strconv.ParseInt(v.Query.Get(name), 10, 64) // an invalid number counts as zero
		return n
	}
	if v.Query.Get("did-action") == "undo" {
		return undoneText(n("did"), n("did-skipped"), n("did-conflicts"))
	}
	a, err := findAction(v.Query.Get("did-action"))
	if err != nil {
		return ""
	}
	text := count(n("did"), "job") + " " + a.Done
	if a.Name == "cancel" && n("did") > 0 {
		text += ", or asked to stop"
	}
	if skipped := n("did-skipped"); skipped > 0 {
		text += ", " + number(skipped) + " left alone for " + either(skipped, "its state", "their state")
	}
	if conflicts := n("did-conflicts"); conflicts > 0 {
		text += ", " + number(conflicts) + " left alone since " + conflictText(conflicts)
	}
	return strings.TrimSpace(text) + "."
}

// undoneText returns the result of an undo.
func undoneText(done, skipped, conflicts int64) string {
	text := "Undone for " + count(done, "job")
	if skipped > 0 {
		text += "; " + number(skipped) + " left alone, as " + either(skipped, "it has run or was changed since", "they have run or were changed since")
	}
	if conflicts > 0 {
		text += "; " + number(conflicts) + " left alone, as " + conflictText(conflicts)
	}
	return text + "."
}

// conflictText returns why jobs could not be queued.
func conflictText(conflicts int64) string {
	return either(conflicts, "another job holds its unique key", "other jobs hold their unique keys")
}

// resultTexts are the results of actions that are not on jobs. The URL of a page has only their keys, so that it cannot make the
// page show any other text.
var resultTexts = map[string]string{
	"paused":      "The queue is paused. What runs goes on; nothing new starts.",
	"resumed":     "The queue is resumed.",
	"limits-gone": "The limits of the key are removed. Those of each key hold for it.",
	"cron-paused": "The cron is paused.",
	"cron-on":     "The cron is resumed.",
	"cron-run":    "A worker that has the cron will run it now, within some seconds.",
	"quiet":       "The worker will claim no more jobs, within some seconds.",
	"resume":      "The worker will claim jobs again, within some seconds.",
	"stop":        "The worker will stop. Its jobs have its grace to end.",
	"cloned":      "The job is enqueued. This is it.",
	"task":        "The worker will cancel the task.",
	"undone":      "The action is undone.",
	"not-undone":  "Nothing is undone: it was changed since.",
}
