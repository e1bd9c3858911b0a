package logs

import (
	"context"
	"testing"
	"time"
)

// nothingStore keeps nothing.
type nothingStore struct{ *mapStore }

func (nothingStore) Append(context.Context, ...*Batch) error { return nil }

// BenchmarkSenderSend is a record from Send to its acknowledgement by a server in the same process that keeps nothing.
func BenchmarkSenderSend(b *testing.B) {
	server := newTestServer(b)
	server.keeper = nothingStore{server.store}
	server.start()
	s := server.sender(SenderOptions{})
	v := View{Time: time.Now().UnixNano(), Message: make([]byte, 100)}
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
