package api

import (
	"net/http"
	"time"

	"github.com/meanwhile-go/meanwhile/job"
)

// shownLimits are the limits of a queue in JSON: with durations in seconds.
type shownLimits struct {
	Running int             `json:"running,omitempty"`
	Starts  *shownRate      `json:"starts,omitempty"`
	Units   *shownRate      `json:"units,omitempty"`
	EachKey *shownKeyLimits `json:"each_key,omitempty"`
}

type shownKeyLimits struct {
	Running       int        `json:"running,omitempty"`
	Starts        *shownRate `json:"starts,omitempty"`
	Units         *shownRate `json:"units,omitempty"`
	InOrder       bool       `json:"in_order,omitempty"`
	HoldOnDiscard bool       `json:"hold_on_discard,omitempty"`
	Weight        int        `json:"weight,omitempty"`
}

func showKeyLimits(l job.KeyLimits) *shownKeyLimits {
	if l == (job.KeyLimits{}) {
		return nil
	}
	return &shownKeyLimits{l.Running, showRate(l.Starts), showRate(l.Units), l.InOrder, l.HoldOnDiscard, l.Weight}
}

func (l *shownKeyLimits) limits() job.KeyLimits {
	if l == nil {
		return job.KeyLimits{}
	}
	return job.KeyLimits{
		Running: l.Running, Starts: l.Starts.rate(), Units: l.Units.rate(), InOrder: l.InOrder, HoldOnDiscard: l.HoldOnDiscard, Weight: l.Weight,
	}
}

type shownRate struct {
	N     int  `json:"n"`
	Per   span `json:"per"`
	Burst int  `json:"burst,omitempty"`
}

func showRate(r job.Rate) *shownRate {
	if r == (job.Rate{}) {
		return nil
	}
	return &shownRate{r.N, span(r.Per), r.Burst}
}

func (r *shownRate) rate() job.Rate {
	if r == nil {
		return job.Rate{}
	}
	return job.Rate{N: r.N, Per: time.Duration(r.Per), Burst: r.Burst}
}

// limits shows the limits of a queue, and how far they are used.
func (a *API) limits(w http.ResponseWriter, r *http.Request) error {
	query, err := readQuery(r)
	if err != nil {
		return err
	}
	key, err := single(query, "key")
	if err != nil {
		return err
	}
	if err := checkRest(query); err != nil {
		return err
	}
	uses, err := a.config.Store.Limits(r.Context(), r.PathValue("name"), key)
	if err != nil {
		return err
	}
	use := uses[0]
	shown := shownLimits{Running: use.Running, Starts: showRate(use.Starts), Units: showRate(use.Units), EachKey: showKeyLimits(use.EachKey)}
	answer := map[string]any{
		"limits": shown, "running": use.QueueRunning, "next": use.QueueNext.Seconds(), "units_next": use.QueueUnits.Seconds(), "held": use.QueueHeld.Seconds(),
		"overrides": use.Overrides,
	}
	if key != "" {
		answer["key_running"], answer["key_next"], answer["key_held"] = use.KeyRunning, use.KeyNext.Seconds(), use.KeyHeld.Seconds()
		answer["key_units_next"] = use.KeyUnits.Seconds()
	}
	if own := showKeyLimits(use.Own); own != nil {
		answer["own"] = own
	}
	if use.KeyFirst != (job.ID{}) {
		answer["key_first"] = use.KeyFirst
	}
	if use.KeyDiscarded != (job.ID{}) {
		answer["key_discarded"] = use.KeyDiscarded
	}
	return writeJSON(w, http.StatusOK, answer)
}

// setLimits replaces the limits of a queue.
func (a *API) setLimits(w http.ResponseWriter, r *http.Request) error {
	var given shownLimits
	if err := readJSON(w, r, &given, mostOne); err != nil {
		return err
	}
	limits := job.Limits{Running: given.Running, Starts: given.Starts.rate(), Units: given.Units.rate(), EachKey: given.EachKey.limits()}
	name := r.PathValue("name")
	if err := job.CheckLimits(name, limits); err != nil {
		return refuse(http.StatusUnprocessableEntity, "set limits of queue %s: %v", name, err)
	}
	err := a.config.Store.SetLimits(r.Context(), name, limits)
	a.record(r, job.AuditEntry{Action: "set limits of queue", Target: name + " " + limits.String(), Changed: 1}, err)
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
