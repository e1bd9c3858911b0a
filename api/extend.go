package api

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/meanwhile-go/meanwhile/job"
)

const (
	mostHeld     = 10_000 // jobs of one request
	mostReported = 1000   // of the records, and of the reports of progress, in one request
	mostLabels   = 20
	mostLabel    = 255 // bytes of a label, and of other texts about a program
)

// A shownProgram is what a worker program reports about itself.
type shownProgram struct {
	Name        string   `json:"name"`
	Host        string   `json:"host"`
	PID         int      `json:"pid"`
	Language    string   `json:"language"`
	Labels      []string `json:"labels"`
	Concurrency int      `json:"concurrency"`
}

func (p *shownProgram) info() (job.WorkerInfo, error) {
	wrong := func(format string, args ...any) (job.WorkerInfo, error) {
		return job.WorkerInfo{}, refuse(http.StatusUnprocessableEntity, "worker: "+format, args...)
	}
	if err := checkWorker(p.Name); err != nil {
		return job.WorkerInfo{}, err
	}
	if len(p.Labels) > mostLabels {
		return wrong("%d labels: give at most %d", len(p.Labels), mostLabels)
	}
	for _, text := range append([]string{p.Host, p.Language}, p.Labels...) {
		if len(text) > mostLabel {
			return wrong("%.40q… has %d bytes, at most %d are allowed", text, len(text), mostLabel)
		}
	}
	if p.PID < 0 || p.Concurrency < 0 || p.Concurrency > 1e6 {
		return wrong("pid %d, concurrency %d: give numbers from 0, and a concurrency up to a million", p.PID, p.Concurrency)
	}
	return job.WorkerInfo{Name: p.Name, Host: p.Host, PID: p.PID, Version: p.Language, Labels: p.Labels, Concurrency: p.Concurrency}, nil
}

// An attempt identifies an attempt of a job.
type attempt struct {
	Session sessionText `json:"session"`
	ID      job.ID      `json:"id"`
	Attempt int         `json:"attempt"`
}

// extend extends the leases of a program, writes what it reports about its jobs, and answers with its lost and canceled jobs and its state.
func (a *API) extend(w http.ResponseWriter, r *http.Request) error {
	var given struct {
		Worker   shownProgram `json:"worker"`
		Lease    *span        `json:"lease"`
		Sessions []struct {
			Session sessionText `json:"session"`
			Jobs    []job.ID    `json:"jobs"`
		} `json:"sessions"`
		Progress []struct {
			attempt
			Done  int64 `json:"done"`
			Total int64 `json:"total"`
		} `json:"progress"`
		Records []struct {
			attempt
			record
		} `json:"records"`
	}
	if err := readJSON(w, r, &given, mostWork); err != nil {
		return err
	}
	info, err := given.Worker.info()
	if err != nil {
		return err
	}
	lease, err := checkLease(given.Lease)
	if err != nil {
		return err
	}
	if len(given.Sessions) > mostSession {
		return refuse(http.StatusUnprocessableEntity, "%d sessions: give at most %d in one request", len(given.Sessions), mostSession)
	}
	held := make([]job.Leased, len(given.Sessions))
	for i, s := range given.Sessions {
		if held[i].Session, err = s.Session.session(); err != nil {
			return err
		}
		held[i].Jobs = s.Jobs
		info.Running += len(s.Jobs)
	}
	switch {
	case info.Running > mostHeld:
		return refuse(http.StatusUnprocessableEntity, "%d jobs: give at most %d in one request", info.Running, mostHeld)
	case len(given.Progress) > mostReported:
		return refuse(http.StatusUnprocessableEntity, "%d reports of progress: give at most %d in one request", len(given.Progress), mostReported)
	case len(given.Records) > mostReported:
		return refuse(http.StatusUnprocessableEntity, "%d records: give at most %d in one request", len(given.Records), mostReported)
	}
	reports := reports{}
	for _, p := range given.Progress {
		report, err := reports.of(p.attempt)
		if err != nil {
			return err
		}
		report.Progress = &job.ProgressReport{Done: p.Done, Total: p.Total}
	}
	for _, given := range given.Records {
		report, err := reports.of(given.attempt)
		if err != nil {
			return err
		}
		r, err := given.record.record()
		if err != nil {
			return err
		}
		report.Records = append(report.Records, r)
	}
	got, err := a.claimer.Extend(r.Context(), info, lease, held...)
	if err == nil {
		err = a.claimer.Report(r.Context(), reports.list()...)
	}
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, map[string]any{"lost": list(got.Lost), "canceled": list(got.Canceled), "state": got.State})
}

// reports has the report about each attempt.
type reports map[attempt]*job.Report

func (all reports) of(which attempt) (*job.Report, error) {
	if all[which] == nil {
		session, err := which.Session.session()
		if err != nil {
			return nil, err
		}
		all[which] = &job.Report{Session: session, ID: which.ID, Attempt: which.Attempt}
	}
	return all[which], nil
}

func (all reports) list() []job.Report {
	reports := make([]job.Report, 0, len(all))
	for _, r := range all {
		reports = append(reports, *r)
	}
	return reports
}

// A record is what a program has logged about a job.
type record struct {
	Time    *moment                    `json:"time"`
	Level   string                     `json:"level"`
	Message string                     `json:"message"`
	Attrs   map[string]json.RawMessage `json:"attrs"`
}

// levels maps the names of levels in many languages to those of slog.
var levels = map[string]slog.Level{
	"": slog.LevelInfo, "trace": slog.LevelDebug - 4, "debug": slog.LevelDebug, "info": slog.LevelInfo, "notice": slog.LevelInfo + 2,
	"warn": slog.LevelWarn, "warning": slog.LevelWarn, "error": slog.LevelError, "fatal": slog.LevelError + 4, "critical": slog.LevelError + 4,
}

func (r *record) record() (job.Record, error) {
	level, ok := levels[strings.ToLower(r.Level)]
	if !ok {
		return job.Record{}, refuse(http.StatusUnprocessableEntity, "%.40q is not a level of a record: give debug, info, warn or error", r.Level)
	}
	record := job.Record{Level: level.String(), Message: r.Message, Attrs: attrText(r.Attrs)}
	if r.Time != nil {
		record.Time = r.Time.Time
	}
	return record, nil
}

// attrText writes attributes as slog's text handler does, sorted by name. Values that are not strings are written as JSON.
func attrText(attrs map[string]json.RawMessage) string {
	if len(attrs) == 0 {
		return ""
	}
	var text bytes.Buffer
	var line slog.Record
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		var value string
		if json.Unmarshal(attrs[name], &value) != nil || string(attrs[name]) == "null" {
			value = string(attrs[name])
		}
		line.AddAttrs(slog.String(name, value))
	}
	builtIn := 2 // the level and the message, which come first: the time is zero
	handler := slog.NewTextHandler(&text, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if builtIn--; builtIn >= 0 {
			return slog.Attr{}
		}
		return a
	}})
	_ = handler.Handle(context.Background(), line) // a buffer returns no error
	return strings.TrimSpace(text.String())
}
