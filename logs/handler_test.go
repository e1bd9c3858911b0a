package logs

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/slogtest"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
)

// newTestHandler returns a handler without a server, whose records stay in memory.
func newTestHandler(t testing.TB, o *HandlerOptions) *Handler {
	t.Helper()
	if o == nil {
		o = &HandlerOptions{}
	}
	o.Spool = SpoolOff
	o.OnError = func(error) {}
	h, err := NewHandler("tcp://127.0.0.1:1", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = h.Close(ctx)
	})
	return h
}

// records returns the records in memory, the oldest first.
func (h *Handler) records(t testing.TB) (records []Record) {
	t.Helper()
	s := h.sender
	s.mu.Lock()
	defer s.mu.Unlock()
	s.collect()
	batches := s.sealed
	if s.open != nil {
		batches = append(batches[:len(batches):len(batches)], s.open)
	}
	for _, b := range batches {
		if b.Count == 0 {
			continue
		}
		for v, err := range b.Views {
			if err != nil {
				t.Fatal(err)
			}
			if err := v.Check(); err != nil {
				t.Fatal(err)
			}
			records = append(records, v.Record())
		}
	}
	return records
}

// TestHandlerContract runs the suite of the standard library. It splits keys such as "http.status" into groups again.
func TestHandlerContract(t *testing.T) {
	h := newTestHandler(t, nil)
	err := slogtest.TestHandler(h, func() (all []map[string]any) {
		for _, r := range h.records(t) {
			m := map[string]any{slog.TimeKey: r.Time, slog.LevelKey: r.Level, slog.MessageKey: r.Message}
			for _, a := range r.Attrs {
				in := m
				groups := strings.Split(a.Key, ".")
				for _, g := range groups[:len(groups)-1] {
					if in[g] == nil {
						in[g] = map[string]any{}
					}
					in = in[g].(map[string]any)
				}
				in[groups[len(groups)-1]] = a.Value.Any()
			}
			all = append(all, m)
		}
		return all
	})
	// The only deviation from the suite: a record without a time gets the current one.
	for _, err := range joined(err) {
		if !strings.Contains(err.Error(), `"time"`) {
			t.Error(err)
		}
	}
}

func joined(err error) []error {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		return all.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

func TestHandlerTellsTaskAndJob(t *testing.T) {
	h := newTestHandler(t, nil)
	log := slog.New(h).WithGroup("in").With("with", 1)
	_ = meanwhile.Run(t.Context(), func(ctx context.Context) error {
		log.InfoContext(ctx, "done", "n", 2, slog.Group("g", "x", true))
		return nil
	}, meanwhile.Name("work"), meanwhile.Attrs(slog.String("job.id", "j1"), slog.String("job.kind", "index")))
	r := h.records(t)[0]
	if r.Task != "work" || r.Job != "j1" || r.Message != "done" || r.Level != slog.LevelInfo || r.Service == "" {
		t.Errorf("got %+v", r)
	}
	var attrs []string
	for _, a := range r.Attrs {
		attrs = append(attrs, a.String())
	}
	if got, want := strings.Join(attrs, " "), "in.with=1 job.kind=index in.n=2 in.g.x=true"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

type panics struct{ with any }

func (p panics) MarshalJSON() ([]byte, error) { panic(p.with) }

type printPanics struct{}

func (printPanics) String() string { panic("again") }

// TestHandlerOddValues logs values as a careless program does: no call panics, and each one adds a record.
func TestHandlerOddValues(t *testing.T) {
	h := newTestHandler(t, &HandlerOptions{AddSource: true, Level: slog.LevelDebug})
	log := slog.New(h)
	var nilError *json.SyntaxError
	log.Debug("panics", "a", panics{"first"}, "b", panics{printPanics{}}, "c", nilError, "d", func() {})
	many := make([]any, 0, 6000)
	for range 3000 {
		many = append(many, "k", "v")
	}
	log.Info("many", many...)
	log.Info(strings.Repeat("long ", 1<<20), "huge", strings.Repeat("x", 2<<20), "small", 1)
	log.Info("the end")

	records := h.records(t)
	if len(records) != 4 {
		t.Fatalf("got %d records, want 4", len(records))
	}
	attrs := map[string]string{}
	for _, a := range records[0].Attrs {
		attrs[a.Key] = a.Value.String()
	}
	if attrs["a"] != "!PANIC: first" || !strings.HasPrefix(attrs["b"], "!PANIC") || !strings.HasPrefix(attrs["source"], "logs/handler_test.go:") {
		t.Errorf("got %v", attrs)
	}
	if got := records[1].Attrs; len(got) > maxAttrs || got[len(got)-1].Key != "logs.attributes_left_out" {
		t.Errorf("got %d attributes", len(got))
	}
	if m := records[2].Message; len(m) > MaxRecord || !strings.HasSuffix(m, "bytes cut)") {
		t.Errorf("got a message of %d bytes that ends with %q", len(m), m[len(m)-20:])
	}
}

// TestHandlerValuesInThemselves logs values that JSON cannot represent and that would overflow the stack in package fmt.
func TestHandlerValuesInThemselves(t *testing.T) {
	type node struct {
		Name string
		In   map[string]any
	}
	inMap, inSlice, inNode := map[string]any{}, []any{nil}, &node{"a", map[string]any{}}
	inMap["self"], inSlice[0], inNode.In["list"] = inMap, inSlice, []any{make(chan int), inNode.In}
	deep := any(make(chan int))
	for range 1500 {
		deep = []any{deep}
	}
	h := newTestHandler(t, nil)
	log := slog.New(h).With("with", inMap)
	log.Info("in themselves", "map", inMap, "slice", inSlice, "node", inNode, "deep", deep, slog.Group("g", "map", inMap))
	log.Info("twice", "x", []any{make(chan int), inMap["none"], []int{}, []int{}})

	records := h.records(t)
	for _, a := range records[0].Attrs {
		if !strings.HasPrefix(a.Value.String(), "!ERROR: json: unsupported ") {
			t.Errorf("got %s, want an error", a)
		}
	}
	if len(records[0].Attrs) != 6 {
		t.Errorf("got %d attributes, want 6", len(records[0].Attrs))
	}
	if got := records[1].Attrs[1].Value.String(); !strings.HasPrefix(got, "[0x") || !strings.HasSuffix(got, " <nil> [] []]") {
		t.Errorf("got %s, want the output of package fmt", got)
	}
}

// An endless value is a group that contains two more such values.
type endless struct{ level int }

func (e endless) LogValue() slog.Value {
	return slog.GroupValue(slog.Int("level", e.level), slog.Any("a", endless{e.level + 1}), slog.Any("b", endless{e.level + 1}))
}

// TestHandlerEndlessGroup logs a group whose LogValue nests endlessly. The call returns, and the attributes before and after it are logged.
func TestHandlerEndlessGroup(t *testing.T) {
	h := newTestHandler(t, nil)
	slog.New(h).With("before", 1).Info("endless", "it", endless{})
	slog.New(h).Info("nested", slog.Group("one", slog.Group("two", "three", 3)))

	records := h.records(t)
	attrs := records[0].Attrs
	if got, want := attrs[0].String()+" "+attrs[1].String()+" "+attrs[2].String(), "before=1 it.level=0 it.a.level=1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if last := attrs[len(attrs)-1]; last.Key != "logs.attributes_left_out" {
		t.Errorf("the last attribute is %s", last)
	}
	deepest := "it." + strings.Repeat("a.", maxGroupDepth-1) + "a"
	if i := slices.IndexFunc(attrs, func(a slog.Attr) bool { return a.Key == deepest }); i < 0 || attrs[i].Value.String() != "!ERROR: a group in too many groups" {
		t.Errorf("got no error text in place of group %d", maxGroupDepth)
	}
	if got, want := records[1].Attrs[0].String(), "one.two.three=3"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestNewHandlerRefuses(t *testing.T) {
	tests := []struct{ address, want string }{
		{"logs:6767", "tcp://host:port"},
		{"http://logs", "not http://"},
		{"tcp://", "tcp://host:port"},
		{"tcp://logs/path", "tcp://host:port"},
		{"tcp://logs?secret=x", `not "secret"`},
		{"tcp://logs?key=" + strings.Repeat("k", 600), "at most 512"},
		{"tcp://lo\x00gs?key=hidden", "cannot be read"},
	}
	for _, test := range tests {
		if _, err := NewHandler(test.address, nil); err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: got %v, want an error with %q", test.address, err, test.want)
		}
	}
	if _, err := NewHandler("tcp://logs", &HandlerOptions{SenderOptions: SenderOptions{Compress: "gzip"}}); err == nil {
		t.Error("compress gzip: got no error")
	}
}

func TestHandlerAllocates(t *testing.T) {
	if testenv.UnderRace {
		t.Skip("under the race detector, pools drop values at random")
	}
	h := newTestHandler(t, &HandlerOptions{SenderOptions: SenderOptions{MemoryBytes: 1 << 30}})
	ctx := t.Context()
	r := slog.NewRecord(time.Now(), slog.LevelInfo, "request served", 0)
	r.AddAttrs(slog.String("method", "GET"), slog.Int("status", 200), slog.Duration("took", 3*time.Millisecond))
	if got := testing.AllocsPerRun(2000, func() { _ = h.Handle(ctx, r) }); got > 1 {
		t.Errorf("got %v allocations, want at most 1", got)
	}
}

// TestHandlerAfterClose: Close returns an error with the number of lost records, and later records are counted as dropped.
func TestHandlerAfterClose(t *testing.T) {
	h := newTestHandler(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	slog.New(h).Info("left")
	if err := h.Close(ctx); err == nil || !strings.Contains(err.Error(), "1 log records were not sent") {
		t.Errorf("got %v, want an error about 1 record that was not sent", err)
	}
	if err := h.Handle(ctx, slog.Record{}); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
	if got := h.Sender().Stats().Dropped; got != 1 {
		t.Errorf("got %d dropped, want 1", got)
	}
}
