package dash

import (
	"net/http"
	"slices"
	"strings"

	"github.com/meanwhile-go/meanwhile/internal/mask"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/logs"
)

// A Config says what a dashboard shows, and to whom. Only Store or Logs has to be set.
type Config struct {
	Store  job.Store   // whose jobs are shown; without it the dashboard shows logs alone
	Logs   logs.Finder // whose records are shown, such as a store of package logs or the client of a server; default none
	Prefix string      // the path it is mounted at, such as "/jobs"; default "/"

	// ReadOnly reports whether a request may only look: acts are then refused with 403, and not shown. Default none is.
	ReadOnly func(*http.Request) bool

	// Mask names fields whose values are shown as •••, at any depth of args and results and among the attributes of log
	// records, regardless of case, "-" and "_". Jobs and records cannot be searched by them. Default DefaultMask(); an empty list that is not nil masks nothing.
	Mask []string

	SignOut string // path that the button to sign out posts to; default none, and no button
	Title   string // of the program, in the head of each page; default "meanwhile"
	Version string // shown beside it; default none
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
	if c.Mask == nil {
		c.Mask = mask.Default
	}
	if c.Title == "" {
		c.Title = "meanwhile"
	}
}
