package logs

import (
	"time"

	"github.com/meanwhile-go/meanwhile/logs/forward"
	"github.com/meanwhile-go/meanwhile/logs/server"
)

// serverReport is what a server says of itself: "meanwhile logs stats" prints it.
type serverReport struct {
	server.Stats
	Forwards map[string][]forwards `json:"forwards,omitempty"` // by their names
}

// forwards is how far an output has come with a service.
type forwards struct {
	forward.Stats
	Behind  string `json:"behind,omitempty"`  // the age of the oldest record that waits
	Failure string `json:"failure,omitempty"` // why it waits; without secrets, as outputs say it
}

// report returns what a server and its forwarders have done.
func (p *plan) report(server *server.Server) serverReport {
	t := serverReport{Stats: server.Stats()}
	all := p.forwarders.Load()
	if all == nil {
		return t
	}
	t.Forwards = make(map[string][]forwards)
	for name, f := range *all {
		for _, s := range f.Stats() {
			one := forwards{Stats: s}
			if s.Behind > 0 {
				one.Behind = s.Behind.Round(time.Second).String()
			}
			if s.Err != nil {
				one.Failure = s.Err.Error()
			}
			t.Forwards[name] = append(t.Forwards[name], one)
		}
	}
	return t
}
