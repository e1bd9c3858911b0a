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
	Services []string      // names, or their beginnings with a * behind; none: what no other route names
	Level    slog.Leveler  // only records of this level or above; nil: all
	Words    []string      // only records of these severities, such as "warn"; nil: all
	Dedupe   bool          // records that repeat the one before are counted, and reported as "Last message repeated N times"
	Raw      bool          // lines have messages, services and severities byte by byte as they came, as Analogger writes them: a message may have several lines
	Fraction int           // digits of a fraction of a second in the times of lines: 0, 3, 6 or 9; raw lines have none
	To       []Destination // at least one
}

// A Destination is where records go. One of its fields is set.
type Destination struct {
	Store  bool             // the store of the server
	File   *linefile.Config // lines in a file
	Writer io.Writer        // lines to standard output, or to another writer that is there already
	Socket string           // lines over TCP to this host:port; the connection is made again when it is lost
}

// A Limit bounds the rate of records of services.
type Limit struct {
	Services []string // as in a [Route]; none: each service that no other limit names
	Rate     float64  // records a second, for each service on its own
	Burst    int      // so many at once; default: those of one second
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

// routeRank says how well patterns fit a service: 0 for not at all, 1 for those that name none, and more the longer the part
// that fits. An exact name fits best.
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

// routesOf returns the routes that a record of a service takes.
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

// A levelFilter is what a route lets through, asked for each record. The nil one lets all through.
type levelFilter struct {
	least slog.Level
	only  []string
	other *levelFilter // which lets through more; nil for none
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

// or returns a level filter that lets through what one of two does. It is made of the second one.
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
