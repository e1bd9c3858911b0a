package logs_test

import (
	"context"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/logtest"
)

// nothingStore keeps nothing.
type nothingStore struct{ *logtest.Memory }

func (nothingStore) Append(context.Context, ...*logs.Batch) error { return nil }

// BenchmarkSenderSend measures the time of a record from Send to its acknowledgement by a server in the same process that keeps nothing.
func BenchmarkSenderSend(b *testing.B) {
	server := newTestServer(b)
	server.keeper = nothingStore{server.store}
	server.start()
	s := server.sender(logs.SenderOptions{})
	v := logs.View{Time: time.Now().UnixNano(), Message: make([]byte, 100)}
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Send(b.Context(), &v); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
}
