package live

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile/inspect"
)

// Leaks has the goroutines of the program that can never continue. In JSON, durations are nanoseconds.
type Leaks struct {
	Time  time.Time      `json:"time"`  // when the search for them started
	Took  time.Duration  `json:"took"`  // how long the search took: a garbage collection
	Leaks []inspect.Leak `json:"leaks"` // those with the most goroutines first
}

const (
	leaksEvery     = 10 * time.Second // for how long a result is sent to all clients,
	maxLeaksFactor = 100              // or for how many times as long as the search took
)

// A leakCheck searches for leaks, and limits how often, so that it does not keep the program busy.
type leakCheck struct {
	profile func() ([]inspect.Leak, error)

	mu     sync.Mutex
	latest Leaks
	fresh  time.Time // until when latest is used
}

// find returns the leaks, which may have been found for another request.
func (c *leakCheck) find() (Leaks, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	begun := time.Now()
	if begun.Before(c.fresh) {
		return c.latest, nil
	}
	list, err := c.profile()
	if err != nil {
		return Leaks{}, err
	}
	if list == nil {
		list = []inspect.Leak{}
	}
	c.latest = Leaks{Time: begun, Took: time.Since(begun), Leaks: list}
	c.fresh = time.Now().Add(max(leaksEvery, maxLeaksFactor*c.latest.Took))
	return c.latest, nil
}

func (c *leakCheck) show(w http.ResponseWriter, q query) error {
	found, err := c.find()
	if err != nil {
		return refuse(http.StatusNotImplemented, err.Error())
	}
	if q.json {
		w.Header().Set("Content-Type", "application/json")
		return json.NewEncoder(w).Encode(found)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s can never go on, as the garbage collector found at %s in %v\n",
		counted(found.count(), "goroutine"), found.Time.Format(time.TimeOnly), found.Took.Round(time.Millisecond))
	for _, l := range found.Leaks {
		text.WriteString(l.String() + "\n")
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, err = w.Write([]byte(text.String()))
	return err
}

func (l Leaks) count() (count int) {
	for _, one := range l.Leaks {
		count += one.Count
	}
	return count
}
