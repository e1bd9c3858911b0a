package server_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/segment"
	"github.com/meanwhile-go/meanwhile/logs/server"
)

// A file gets the records of a client in the order of their numbers, also if only some services are deduplicated, and records that are
// sent again are recognized by their numbers.
func TestOneFileOfManyServices(t *testing.T) {
	dir := t.TempDir()
	to := toFile(filepath.Join(dir, "a.log"))[0].To
	routes := []server.Route{{Services: []string{"deduplicated"}, Dedupe: true, To: to}, {To: to}}
	client := logs.NewClient()
	var batches []*logs.Batch
	for i, service := range []string{"a", "deduplicated", "a"} {
		b := &logs.Batch{Service: service, Client: client, First: uint64(i + 1), Last: uint64(i + 1)}
		b.Add(&logs.View{Message: []byte{'1' + byte(i)}})
		batches = append(batches, b)
	}
	for range 2 { // the second server has what the journal knows
		serve(t, server.Config{Routes: routes, Journal: filepath.Join(dir, "lines")}, func(ctx context.Context, s *server.Server) {
			a := s.Acceptor()
			for _, some := range [][]*logs.Batch{batches, batches[2:], batches} {
				if err := a.Append(ctx, some...); err != nil {
					t.Error(err)
				}
			}
		})
		equal(t, "lines", lines(t, filepath.Join(dir, "a.log")), "a|info|1", "deduplicated|info|2", "a|info|3")
	}
}

// The records that the store has of the own protocol are counted as written, each once.
func TestStoredRecordsOfTheOwnProtocolAreCounted(t *testing.T) {
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		store, err := segment.Open(ctx, t.TempDir(), segment.Config{})
		if err != nil {
			return err
		}
		serve(t, server.Config{Store: store}, func(ctx context.Context, s *server.Server) {
			two := &logs.Batch{Service: "a", Client: logs.NewClient(), First: 1, Last: 2}
			two.Add(&logs.View{Message: []byte("1")})
			two.Add(&logs.View{Message: []byte("2")})
			one := &logs.Batch{Service: "b"} // of a client without an identity
			one.Add(&logs.View{Message: []byte("3")})
			a := s.Acceptor()
			for _, b := range []*logs.Batch{two, two, one} {
				if err := a.Append(ctx, b); err != nil {
					t.Error(err)
				}
			}
			if outputs := s.Stats().Outputs; len(outputs) != 1 || outputs[0].Written != 3 {
				t.Errorf("got %+v, want 3 written", outputs)
			}
		})
		return store.Close()
	})
	if err != nil {
		t.Error(err)
	}
}
