package docs_test

import (
	"context"
	"net"
	"os"

	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/faktory"
)

// serveFaktory is for faktory.md.
func serveFaktory(ctx context.Context, store job.Store) error {
	server, err := faktory.New(faktory.Config{Store: store, Password: os.Getenv("FAKTORY_PASSWORD")})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:7419")
	if err != nil {
		return err
	}
	return server.Serve(ctx, listener)
}

var _ = serveFaktory
