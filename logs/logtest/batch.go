package logtest

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/meanwhile-go/meanwhile/logs"
)

// Epoch is the time of the first record of [Batch].
var Epoch = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)

// Message returns the message of the n-th record that [Batch] makes.
func Message(n uint64) string { return fmt.Sprintf("record %d of many", n) }

// Batch makes a batch of count records of a service, whose client numbers, messages and times begin at first: the n-th is
// [Message](n), at [Epoch] plus n milliseconds, with an attribute n; each tenth is a warning. The batch has no client
// when client is zero.
func Batch(service string, client logs.Client, first uint64, count int) *logs.Batch {
	b := &logs.Batch{Service: service, Client: client}
	if client != (logs.Client{}) {
		b.First, b.Last = first, first+uint64(count)-1
	}
	for n := first; n < first+uint64(count); n++ {
		level := slog.LevelInfo
		if n%10 == 0 {
			level = slog.LevelWarn
		}
		r := logs.Record{
			Time: Epoch.Add(time.Duration(n) * time.Millisecond), Level: level, Message: Message(n),
			Attrs: []slog.Attr{slog.Uint64("n", n)},
		}
		v := r.View()
		b.Add(&v)
	}
	return b
}

// Messages returns the messages of records.
func Messages(records []logs.Record) []string {
	messages := make([]string, len(records))
	for i := range records {
		messages[i] = records[i].Message
	}
	return messages
}
