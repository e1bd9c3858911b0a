package dash

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/meanwhile-go/meanwhile/internal/mask"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// A Config configures a dashboard: what it shows, and to whom. Only Store or Logs must be set.
type Config struct {
	Store  job.Store      // whose jobs are shown; without it the dashboard shows only logs
	Logs   storage.Finder // of the records that are shown, such as a store of package logs or the client of a server; default none
	Prefix string         // the path it is mounted at, such as "/jobs"; default "/"

	// ReadOnly reports whether a request may only read. Actions are then refused with status 403, and not shown. Default: no request is read-only.
	ReadOnly func(*http.Request) bool

	// Mask names fields whose values are shown as •••, at any depth of args and results and among the attributes of log
	// records, regardless of case, "-" and "_". Jobs and records cannot be searched by them. Default DefaultMask(); an empty list that is
	// not nil masks nothing.
	Mask []string

	// New creates the job for a clone of another job. A program that knows its kinds can check their args there. Default job.New, which accepts any
	// kind.
	New func(kind string, args json.RawMessage, opts ...job.EnqueueOption) (*job.Job, error)

	// Actor returns who sent a request, for the audit log. By default, and if it returns "", the actor is the client's address.
	Actor  func(*http.Request) string
	Logger *slog.Logger // for the audit log; default slog.Default()

	SignOut string // path that the sign-out button posts to; without it there is no button
	Title   string // of the program, in the head of each page; default "meanwhile"
	Version string // shown next to the title; default none
}

// DefaultMask returns the names of the fields that are masked unless Config.Mask says otherwise.
func DefaultMask() []string { return slices.Clone(mask.Default) }

func (c *Config) fill() {
	if c.Store == nil && c.Logs == nil {
		panic("dash: New: Config.Store is nil, and so is Logs: give the store whose jobs, or the finder whose records are to be shown")
	}
	c.Prefix = "/" + strings.Trim(c.Prefix, "/")
	if c.Prefix == "/" {
		c.Prefix = ""
	}
	if c.ReadOnly == nil {
		c.ReadOnly = func(*http.Request) bool { return false }
	}
	if c.New == nil {
		c.New = func(kind string, args json.RawMessage, opts ...job.EnqueueOption) (*job.Job, error) {
			return job.New(kind, args, opts...)
		}
	}
	if c.Actor == nil {
		c.Actor = func(*http.Request) string { return "" }
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Mask == nil {
		c.Mask = mask.Default
	}
	if c.Title == "" {
		c.Title = "meanwhile"
	}
}
