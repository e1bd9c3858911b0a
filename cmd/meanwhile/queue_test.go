package main

import (
	"strings"
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
	const form, concurrency, weight = "is not a queue such as mails, mails:10 or mails:10:3",
		"the number of jobs at once is not a whole number above 0, as in mails:10", "the weight is not a whole number above 0, as in mails:10:3"
	for text, want := range map[string]string{
		"": form, ":1": form, "a:1:1:1": form, "a:": concurrency, "a:0": concurrency, "a:-1": concurrency, "a:x:3": concurrency, "a:1:0": weight, "a:1:x": weight, "a:1:": weight,
	} {
		var q work.Queue
		if err := q.UnmarshalText([]byte(text)); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%q: got %+v, %v, want %s", text, q, err, want)
		}
	}
}
