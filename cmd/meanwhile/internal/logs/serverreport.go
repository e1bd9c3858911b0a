package logs

import (
	"time"

	"github.com/meanwhile-go/meanwhile/logs/forward"
	"github.com/meanwhile-go/meanwhile/logs/server"
)

// serverReport is the status report of a server, which "meanwhile logs stats" prints.
type serverReport struct {
	server.Stats
	Forwards map[string][]forwards `json:"forwards,omitempty"` // by name
}

// forwards is the progress of an output for a service.
type forwards struct {
	forward.Stats
	Behind  string `json:"behind,omitempty"`  // age of the oldest record that is not sent yet
	Failure string `json:"failure,omitempty"` // why records are not sent; without secrets, as in all errors of outputs
}

// report returns the statistics of a server and its forwarders.
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
