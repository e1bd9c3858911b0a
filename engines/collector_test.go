//go:build unix

package engines

import (
	"encoding/json"
	"testing"
)

// collect starts a collector that takes OTLP at an address, and exports it to a URL.
func collect(t *testing.T, to string, c collecting) (p *process, address string) {
	t.Helper()
	address = free(t)
	http := settings{"endpoint": address}
	if c.maxBody > 0 {
		http["max_request_body_size"] = c.maxBody
	}
	exporter := settings{"endpoint": to}
	if c.queue {
		exporter["retry_on_failure"] = settings{"initial_interval": "50ms", "max_interval": "1s", "max_elapsed_time": 0}
	} else {
		exporter["sending_queue"], exporter["retry_on_failure"] = settings{"enabled": false}, settings{"enabled": false}
	}
	receiver := settings{"protocols": settings{"http": http}}
	return start(t, address, built(t, buildCollector), "--receiver", receiver.json(t), "--exporter", exporter.json(t)), address
}

// settings of a part of the collector, as its own documentation has them in YAML.
type settings map[string]any

func (s settings) json(t *testing.T) string {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// collecting is how a collector exports.
type collecting struct {
	queue   bool  // it acknowledges before it has exported, and tries again until it has; else it acknowledges when it has
	maxBody int64 // bytes of a request that it takes; default: its own
}
