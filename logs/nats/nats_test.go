//go:build unix

package nats_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/forward"
	"github.com/meanwhile-go/meanwhile/logs/logtest"
	"github.com/meanwhile-go/meanwhile/logs/nats"
)

const address = testenv.NATSAddress

// server connects to the NATS server that tests need, and returns a name for a stream, which is deleted at the end of the test.
func server(t *testing.T) (js jetstream.JetStream, stream string) {
	t.Helper()
	conn, err := client.Connect("nats://" + address)
	if err != nil {
		testenv.NATS.Missing(t, err)
	}
	t.Cleanup(conn.Close)
	if js, err = jetstream.New(conn); err != nil {
		t.Fatal(err)
	}
	stream = fmt.Sprintf("test-%08x", rand.Uint32())
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := js.DeleteStream(ctx, stream); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
			t.Error(err)
		}
	})
	return js, stream
}

func open(t *testing.T, c nats.Config) *nats.Output {
	t.Helper()
	output, err := nats.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := output.Close(); err != nil {
			t.Error(err)
		}
	})
	return output
}

// messages returns all messages of a stream.
func messages(t *testing.T, js jetstream.JetStream, stream string) (all []jetstream.Msg) {
	t.Helper()
	s, err := js.Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	left := s.CachedInfo().State.Msgs
	consumer, err := s.OrderedConsumer(t.Context(), jetstream.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for left > 0 {
		batch, err := consumer.Fetch(int(min(left, 1000)), jetstream.FetchMaxWait(10*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for m := range batch.Messages() {
			all = append(all, m)
			n++
		}
		if n == 0 {
			t.Fatalf("%d messages are missing: %v", left, batch.Error())
		}
		left -= uint64(n)
	}
	return all
}

func TestOutput(t *testing.T) {
	js, stream := server(t)
	logtest.TestOutput(t, logtest.OtherSide{
		Address: address,
		Once:    true,
		Open: func(t *testing.T, address string) forward.Output {
			return open(t, nats.Config{URL: "nats://" + address, Stream: stream, Subject: stream + ".{service}.{level}", Create: true})
		},
		Kept: func(t *testing.T, _ ...string) (kept []logtest.Identity) {
			for _, m := range messages(t, js, stream) {
				var r logs.Record
				if err := json.Unmarshal(m.Data(), &r); err != nil {
					t.Fatal(err)
				}
				kept = append(kept, logtest.Identity{Service: r.Service, Identity: m.Headers().Get(jetstream.MsgIDHeader)})
			}
			return kept
		},
	})
}

func TestMessages(t *testing.T) {
	js, stream := server(t)
	c := nats.Config{URL: "nats://" + address, Stream: stream, Subject: stream + ".{service}.x-{level}"}
	records := []logs.Record{
		{Service: "a.b *>%ü\t", Number: 1, Level: slog.LevelWarn + 1, Message: "one", Attrs: []slog.Attr{slog.Int("n", 1)}},
		{Service: "api", Number: 2, Level: -8, Message: strings.Repeat("too large", 1<<17)},
		{Service: "api", Number: 3, Level: 12, Message: "three"},
	}
	if err := open(t, c).Send(t.Context(), records); !errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, forward.ErrRefused) {
		t.Errorf("without a stream: %v", err)
	}
	c.Create = true
	output := open(t, c)
	for range 2 {
		err := output.Send(t.Context(), records)
		if refused, ok := errors.AsType[*forward.RefusedError](err); !ok || refused.Count != 1 {
			t.Errorf("got %v, want one refused record", err)
		}
	}
	var got []string
	for _, m := range messages(t, js, stream) {
		got = append(got, m.Subject(), string(m.Data()))
	}
	want := []string{
		stream + ".a%2Eb%20%2A%3E%25%C3%BC%09.x-warn", string(records[0].AppendJSON(nil)),
		stream + ".api.x-error", string(records[2].AppendJSON(nil)),
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestFullStream: Send fails while the stream is full, and succeeds when it has space again.
func TestFullStream(t *testing.T) {
	js, stream := server(t)
	config := jetstream.StreamConfig{Name: stream, Subjects: []string{stream + ".>"}, MaxMsgs: 3, Discard: jetstream.DiscardNew}
	if _, err := js.CreateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	output := open(t, nats.Config{URL: "nats://" + address, Stream: stream, Subject: stream + ".{service}", Window: 2})
	var records []logs.Record
	for n := range uint64(10) {
		records = append(records, logs.Record{Service: "api", Number: n + 1})
	}
	if err := output.Send(t.Context(), records); err == nil || errors.Is(err, forward.ErrRefused) {
		t.Errorf("full: %v", err)
	}
	config.MaxMsgs = -1
	if _, err := js.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	if err := output.Send(t.Context(), records); err != nil {
		t.Error(err)
	}
	for i, m := range messages(t, js, stream) {
		if got, want := m.Headers().Get(jetstream.MsgIDHeader), records[i].Identity(); got != want {
			t.Errorf("message %d is %s, want %s", i, got, want)
		}
	}
}

// TestStreamOfShortMessages: messages that are too large for the stream are refused, and the others are published.
func TestStreamOfShortMessages(t *testing.T) {
	js, stream := server(t)
	config := jetstream.StreamConfig{Name: stream, Subjects: []string{stream + ".>"}, MaxMsgSize: 1000}
	if _, err := js.CreateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	output := open(t, nats.Config{URL: "nats://" + address, Stream: stream, Subject: stream + ".{service}", Window: 2})
	var records []logs.Record
	for n := range uint64(10) {
		records = append(records, logs.Record{Service: "api", Number: n + 1, Message: strings.Repeat("x", int(n%3)*1000)})
	}
	err := output.Send(t.Context(), records)
	if refused, ok := errors.AsType[*forward.RefusedError](err); !ok || refused.Count != 6 {
		t.Errorf("got %v, want six refused records", err)
	}
	if got := messages(t, js, stream); len(got) != 4 {
		t.Errorf("%d messages, want 4", len(got))
	}
}

func TestConfig(t *testing.T) {
	for name, c := range map[string]nats.Config{
		"no URL":       {Stream: "s"},
		"no stream":    {URL: "nats://host"},
		"a dot":        {URL: "nats://host", Stream: "a.b"},
		"unknown":      {URL: "nats://host", Stream: "s", Subject: "logs.{job}"},
		"empty token":  {URL: "nats://host", Stream: "s", Subject: "logs..{level}"},
		"wildcard":     {URL: "nats://host", Stream: "s", Subject: "logs.>"},
		"a secret URL": {URL: "nats://me:secret@host:no", Stream: "s"},
		"no slashes":   {URL: "nats:secret@host:4222", Stream: "s"},
		"no host":      {URL: "nats://secret@", Stream: "s"},
	} {
		if _, err := nats.New(c); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	output := open(t, nats.Config{URL: "nats://me:secret@127.0.0.1:1", Stream: "s"})
	if err := output.Send(t.Context(), make([]logs.Record, 1)); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}
