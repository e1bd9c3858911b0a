//go:build unix

package opensearch_test

import (
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile/logs/forward"
	"github.com/meanwhile-go/meanwhile/logs/logtest"
	"github.com/meanwhile-go/meanwhile/logs/opensearch"
)

func TestOutput(t *testing.T) {
	c, address := newCluster(t)
	logtest.TestOutput(t, logtest.OtherSide{
		Address: strings.TrimPrefix(address, "http://"),
		Once:    true,
		Open: func(t *testing.T, address string) forward.Output {
			return open(t, opensearch.Config{URL: "http://" + address})
		},
		Kept: func(*testing.T, ...string) (kept []logtest.Identity) {
			c.mu.Lock()
			defer c.mu.Unlock()
			for _, id := range c.order {
				kept = append(kept, logtest.Identity{Service: c.kept[id]["service.name"].(string), Identity: id})
			}
			return kept
		},
	})
}
