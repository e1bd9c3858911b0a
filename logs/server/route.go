package server

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"slices"
	"strings"

	"github.com/meanwhile-go/meanwhile/internal/severity"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/linefile"
)

// A Route defines where the records of some services go.
//
// A record goes where the routes that name its service send it. If none does, the routes with the longest prefix of its name
// count, and if there are none either, those without services. Routes of "*" get every record, whatever the others say. A
// destination of several routes gets a record once.
type Route struct {
	Services []string      // names, or prefixes followed by a *; none: services that no other route names
	Level    slog.Leveler  // only records of this level or above; nil: all
	Words    []string      // only records of these severities, such as "warn"; nil: all
	Dedupe   bool          // records that repeat the one before are counted, and reported as "Last message repeated N times"
	Raw      bool          // lines have messages, services and severities byte by byte as they were received, as Analogger writes them: a message may have several lines
	Fraction int           // digits of a fraction of a second in the times of lines: 0, 3, 6 or 9; raw lines have none
	To       []Destination // at least one
}

// A Destination is where records go. One of its fields is set.
type Destination struct {
	Store  bool             // the store of the server
	File   *linefile.Config // lines in a file
	Writer io.Writer        // lines to standard output, or to another open writer
	Socket string           // lines over TCP to this host:port; a lost connection is reopened
}

// A Limit is a rate limit for the records of services. Records that exceed it are dropped, counted, and reported in the service's stream.
type Limit struct {
	Services []string // as in a [Route]; none: each service that no other limit names
	Rate     float64  // records per second of each service
	Burst    int      // records that may arrive at once; default: those of one second
}

func (r *Route) check() error {
	if len(r.To) == 0 {
		return errors.New("a route leads nowhere: give it a destination")
	}
	for _, to := range r.To {
		set := 0
		for _, is := range []bool{to.Store, to.File != nil, to.Writer != nil, to.Socket != ""} {
			if is {
				set++
			}
		}
		if set != 1 {
			return errors.New("a destination is one of a store, a file, a writer and a socket")
		}
		if to.File != nil && to.File.Path == "" {
			return errors.New("a file without path")
		}
		if to.Writer != nil && !reflect.TypeOf(to.Writer).Comparable() {
			return fmt.Errorf("a writer of type %T: it must be comparable, as two routes to one are one output", to.Writer)
		}
	}
	switch {
	case !slices.Contains([]int{0, 3, 6, 9}, r.Fraction):
		return fmt.Errorf("a fraction of a second with %d digits: give 0, 3, 6 or 9", r.Fraction)
	case r.Raw && r.Fraction > 0:
		return errors.New("raw lines are those of Analogger, which have no fraction of a second: leave one of both out")
	}
	return checkServices(r.Services)
}

func checkServices(patterns []string) error {
	for _, p := range patterns {
		if p == "*" {
			continue
		}
		if err := logs.CheckService(strings.TrimSuffix(p, "*")); err != nil {
			return fmt.Errorf("service %.40q: %w", p, err)
		}
	}
	return nil
}

// routeRank returns how well patterns match a service: 0 if they do not, 1 if there are none, and more the longer the matching prefix is.
// An exact name ranks highest.
func routeRank(patterns []string, service string) int {
	if len(patterns) == 0 {
		return 1
	}
	best := 0
	for _, p := range patterns {
		prefix, wild := strings.CutSuffix(p, "*")
		switch {
		case p == service:
			return 3 + logs.MaxService
		case wild && prefix != "" && strings.HasPrefix(service, prefix):
			best = max(best, 2+len(prefix))
		}
	}
	return best
}

// routesOf returns the routes of a service.
func routesOf(routes []Route, service string) (taken []*Route) {
	best := 1
	for i := range routes {
		best = max(best, routeRank(routes[i].Services, service))
	}
	for i := range routes {
		if r := &routes[i]; routeRank(r.Services, service) == best || slices.Contains(r.Services, "*") {
			taken = append(taken, r)
		}
	}
	return taken
}

// limitOf returns the limit of a service, nil for none.
func limitOf(limits []Limit, service string) (found *Limit) {
	best := 0
	for i := range limits {
		if r := routeRank(limits[i].Services, service); r > best {
			best, found = r, &limits[i]
		}
	}
	return found
}

// A levelFilter decides which records of a service a route passes, by their levels and severities. A nil one passes all.
type levelFilter struct {
	least slog.Level
	only  []string
	other *levelFilter // passes records that this one does not; nil for none
}

func newLevelFilter(r *Route) *levelFilter {
	if r.Level == nil && r.Words == nil {
		return nil
	}
	w := &levelFilter{least: -1 << 31, only: r.Words}
	if r.Level != nil {
		w.least = r.Level.Level()
	}
	return w
}

// or returns a level filter that passes what one of two filters passes. It changes the second one.
func (g *levelFilter) or(other *levelFilter) *levelFilter {
	if g == nil || other == nil {
		return nil
	}
	other.other = g
	return other
}

func (g *levelFilter) pass(v *logs.View) bool {
	if g == nil || g.passes(v) {
		return true
	}
	return g.other != nil && g.other.pass(v)
}

func (g *levelFilter) passes(v *logs.View) bool {
	if v.Level < g.least {
		return false
	}
	if g.only == nil {
		return true
	}
	if word, ok := v.AttrText(severity.Key); ok {
		return slices.ContainsFunc(g.only, func(s string) bool { return s == string(word) })
	}
	return slices.Contains(g.only, severity.Word(v.Level))
}
