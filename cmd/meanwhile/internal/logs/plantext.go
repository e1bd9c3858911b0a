package logs

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
	"github.com/meanwhile-go/meanwhile/logs/segment"
	"github.com/meanwhile-go/meanwhile/logs/server"
)

// String describes the configuration, one setting per line.
func (p *plan) String() string {
	var b strings.Builder
	for _, l := range p.listeners {
		fmt.Fprintf(&b, "listen on %s for %s%s\n", probe.Printable(l.Address), l.Name, listenerText(&l))
	}
	if p.stores() {
		fmt.Fprintf(&b, "keep in %s\n", probe.Printable(p.Dir))
		for _, name := range slices.Sorted(maps.Keys(p.routes.keep)) {
			fmt.Fprintf(&b, "keep of %s %s\n", probe.Printable(name), keepText(p.routes.keep[name]))
		}
	}
	for _, r := range p.routes.routes {
		fmt.Fprintf(&b, "route %s\n", probe.Printable(routeText(r)))
	}
	for _, l := range p.routes.limits {
		fmt.Fprintf(&b, "limit %s\n", probe.Printable(limitText(l)))
	}
	for _, r := range p.routes.redact {
		fmt.Fprintf(&b, "redact %s\n", probe.Printable(redactText(r)))
	}
	for _, a := range p.routes.alerts {
		fmt.Fprintf(&b, "alert %s\n", probe.Printable(alertText(a)))
	}
	for _, o := range p.routes.onward {
		fmt.Fprintf(&b, "forward to %s\n", probe.Printable(o.output.Name))
	}
	fmt.Fprintf(&b, "sync %s\n", p.Sync)
	for _, text := range p.warnings {
		fmt.Fprintf(&b, "warning: %s\n", text)
	}
	return b.String()
}

// listenerText describes the options of a listener.
func listenerText(l *server.Listener) (text string) {
	if l.TLS != nil {
		text += ", by TLS"
		if l.TLS.ClientCAs != nil {
			text += " with client certificates"
		}
	}
	for i, n := range l.Allow {
		text += []string{", from ", " and "}[min(i, 1)] + n.String()
	}
	return text
}

// keepText describes the retention of a service, as far as it is set.
func keepText(keep segment.Retention) string {
	var said []string
	switch {
	case keep.Age > 0:
		said = append(said, "for "+ageText(keep.Age))
	case keep.Age < 0:
		said = append(said, "for ever")
	}
	switch {
	case keep.Bytes > 0:
		said = append(said, "up to "+size(keep.Bytes))
	case keep.Bytes < 0:
		said = append(said, "of any size")
	}
	return strings.Join(said, ", ")
}

// ageText formats an age as it is written in the file.
func ageText(age time.Duration) string {
	const day = 24 * time.Hour
	if age%day == 0 {
		return fmt.Sprintf("%dd", age/day)
	}
	return age.String()
}

// servicesText describes a list of services.
func servicesText(services []string) string {
	if len(services) == 0 {
		return "all else"
	}
	return strings.Join(services, ", ")
}

func limitText(l server.Limit) string {
	text := fmt.Sprintf("%s to %g a second of each", servicesText(l.Services), l.Rate)
	if l.Burst > 0 {
		text += fmt.Sprintf(", %d at once", l.Burst)
	}
	return text
}

// routeText describes a route.
func routeText(r server.Route) string {
	text := servicesText(r.Services)
	if r.Level != nil {
		text += " from " + strings.ToLower(r.Level.Level().String()) + " on"
	}
	if r.Words != nil {
		text += " of " + strings.Join(r.Words, ", ")
	}
	var to []string
	for _, d := range r.To {
		switch {
		case d.Store:
			to = append(to, "store")
		case d.File != nil:
			to = append(to, "file:"+d.File.Path)
		case d.Socket != "":
			to = append(to, "socket:"+d.Socket)
		default:
			to = append(to, map[bool]string{true: "stdout", false: "stderr"}[d.Writer == os.Stdout])
		}
	}
	text += " to " + strings.Join(to, ", ")
	if r.Fraction > 0 {
		text += ", times with ." + strings.Repeat("0", r.Fraction)
	}
	if r.Dedupe {
		text += ", repeats counted"
	}
	return text
}
