package remote

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// TestFollowMissesNothing: a follow that repeatedly loses its connection gets each record once, and those of a service in order, also those
// of a new service.
func TestFollowMissesNothing(t *testing.T) {
	s := newShelf()
	s.add(someRecords(10)...) // before the follow begins
	var lost atomic.Int32
	client, server := serve(t, Handler(s, nil), Config{Lost: func(error) { lost.Add(1) }})
	add := func(service string, n int) {
		for i := range n {
			r := someRecords(1)[0]
			r.Service, r.Message = service, fmt.Sprintf("new %d", i)
			s.add(r)
		}
	}
	const rounds = 4
	got := map[string][]uint64{}
	round := 0
	add("other", 1) // does not match the query
	q := query(t, "service!=other")
	q.After = map[string]uint64{"api": 4} // so that a first record shows that the follow has begun
	for r, err := range client.Follow(t.Context(), q) {
		if err != nil {
			t.Fatal(err)
		}
		got[r.Service] = append(got[r.Service], r.Number)
		if round == rounds {
			if r.Service == "last" {
				break
			}
			continue
		}
		round++
		server.CloseClientConnections()
		add("api", 3)
		add("web", 2)
		add(fmt.Sprintf("new%d", round), 2)
		if round == rounds {
			add("last", 1)
		}
	}
	for service, numbers := range got {
		for i, n := range numbers {
			if n != numbers[0]+uint64(i) {
				t.Errorf("%s: got the numbers %v", service, numbers)
				break
			}
		}
	}
	for round := range rounds {
		if n := got[fmt.Sprintf("new%d", round+1)]; len(n) != 2 || n[0] != 1 {
			t.Errorf("got the numbers %v of a new service, want 1 and 2", n)
		}
	}
	if n := got["web"]; len(n) != 2*rounds || n[0] != 6 {
		t.Errorf("got the numbers %v of web, want two of each round, from 6 on", n)
	}
	if lost.Load() == 0 {
		t.Error("the connection was never lost")
	}
}

func TestFollowAfter(t *testing.T) {
	s := newShelf()
	s.add(someRecords(10)...)
	client, _ := serve(t, Handler(s, nil), Config{})
	q := storage.Query{After: map[string]uint64{"api": 2, "web": 99}} // web has fewer records
	var got []uint64
	for r, err := range client.Follow(t.Context(), q) {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, r.Number); len(got) == 3 {
			if s.add(someRecords(2)...); r.Service != "api" {
				t.Errorf("got %v", r)
			}
		}
		if r.Service == "web" {
			if r.Number != 6 {
				t.Errorf("got number %d of web, want 6", r.Number)
			}
			break
		}
	}
	if fmt.Sprint(got[:3]) != "[3 4 5]" {
		t.Errorf("got the numbers %v", got)
	}
}

// TestFollowSaysWhatItMisses: a follow reports missed records, and yields the rest.
func TestFollowSaysWhatItMisses(t *testing.T) {
	s := newShelf()
	s.missed = &storage.MissedError{Reason: "17 records came too fast"}
	client, _ := serve(t, Handler(s, nil), Config{})
	missed := false
	for r, err := range client.Follow(t.Context(), storage.Query{}) {
		if err != nil {
			got, ok := errors.AsType[*storage.MissedError](err)
			if missed = true; !ok || got.Error() != s.missed.Error() {
				t.Errorf("got %v", err)
			}
			s.add(someRecords(1)...)
			continue
		}
		if !missed || r.Message != "record 0" {
			t.Errorf("got %v", r)
		}
		break
	}
}
