package postgres_test

import (
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile/job/postgres"
)

// TestNoServerIsOneLine tests that the error for a server that does not exist is one line.
func TestNoServerIsOneLine(t *testing.T) {
	s, err := postgres.Open(t.Context(), "postgres://nobody:secret@127.0.0.1:1/none")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	err = s.Ping(t.Context())
	if err == nil {
		t.Fatal("a server answered at port 1")
	}
	text := err.Error()
	if strings.Contains(text, "\n") || strings.Contains(text, "secret") || strings.Count(text, "connection refused") != 1 {
		t.Errorf("got %q, want one line that says once that the connection was refused", text)
	}
}
