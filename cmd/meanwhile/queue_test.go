package main

import (
	"testing"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/work"
)

// TestQueue is here, since a test program of package work alone would also be linked with all stores.
func TestQueue(t *testing.T) {
	for text, want := range map[string]work.Queue{
		"mails": {Name: "mails"}, "mails:10": {Name: "mails", Concurrency: 10}, "mails:10:3": {Name: "mails", Concurrency: 10, Weight: 3},
	} {
		var got work.Queue
		if err := got.UnmarshalText([]byte(text)); got != want || err != nil {
			t.Errorf("%s: got %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", ":1", "a:", "a:0", "a:-1", "a:1:0", "a:1:x", "a:1:1:1"} {
		var q work.Queue
		if err := q.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q: got %+v, want an error", text, q)
		}
	}
}
