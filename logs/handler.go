package logs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"
)

// HandlerOptions are the options of a [Handler]. The zero value works.
type HandlerOptions struct {
	// Level is the lowest level that is logged. It may change while the handler is used. The default is slog.LevelInfo.
	Level slog.Leveler

	// AddSource adds the attribute "source" with the position of the call: the last folder, the file and the line, as in "api/main.go:17".
	AddSource bool

	// Block is how long a call waits for buffer space when memory and spool are full, before its record is dropped. The wait also ends
	// when ctx ends. Zero means not to wait.
	Block time.Duration

	SenderOptions
}

// A Handler is a slog.Handler that sends records to a log server, through a [Sender]. A call never waits for a server or a disk,
// unless [HandlerOptions].Block is set. The record contains the path of the task that ctx belongs to, and its job; a group is a prefix
// of keys: "http.status".
//
// Call Close before the program ends, or use process.Main, which does.
type Handler struct {
	sender *Sender
	level  slog.Leveler
	source bool
	block  time.Duration
	prefix string // of keys: the groups, each with a dot
	attrs  []byte // encoded
}

// NewHandler returns a handler that sends to the server at tcp://host:port or tls://host:port, as [NewSender] does. Nil for
// the options means the defaults.
//
//	handler, err := logs.NewHandler("tcp://logs:6767", nil)
//	slog.SetDefault(slog.New(handler))
func NewHandler(address string, o *HandlerOptions) (*Handler, error) {
	if o == nil {
		o = &HandlerOptions{}
	}
	sender, err := NewSender(address, &o.SenderOptions)
	if err != nil {
		return nil, err
	}
	h := &Handler{sender: sender, level: o.Level, source: o.AddSource, block: o.Block}
	if h.level == nil {
		h.level = slog.LevelInfo
	}
	return h, nil
}

// Sender returns the sender of the handler.
func (h *Handler) Sender() *Sender { return h.sender }

// Flush returns when the server has acknowledged everything logged before, except records that were dropped; see [Sender.Flush].
func (h *Handler) Flush(ctx context.Context) error { return h.sender.Flush(ctx) }

// Close sends or spools the records that were logged; see [Sender.Close]. It closes all handlers with the same sender: those that WithAttrs
// and WithGroup have returned.
func (h *Handler) Close(ctx context.Context) error { return h.sender.Close(ctx) }

// Enabled reports whether records of a level are logged.
func (h *Handler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level.Level() }

// Handle passes a record to the sender. An error, which is or wraps [ErrFull] or [ErrClosed], means that the record was dropped and counted
// as dropped.
func (h *Handler) Handle(ctx context.Context, r slog.Record) error {
	at := r.Time.UnixNano()
	if r.Time.IsZero() {
		at = time.Now().UnixNano()
	}
	var buf [usualRoom]byte
	record := h.encode(ctx, buf[:0], &r, at)
	if h.block <= 0 {
		return h.sender.put("", record, at)
	}
	_, err := h.sender.addToShard(record, at, false)
	if errors.Is(err, ErrFull) {
		err = h.sender.waitFor(ctx, h.block, record, at)
	}
	if err != nil {
		h.sender.drop()
	}
	return err
}

// WithAttrs returns a handler that adds attributes to every record. They are encoded once.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	if len(attrs) == 0 {
		return h
	}
	next := *h
	next.attrs = append([]byte(nil), h.attrs...)
	for _, a := range attrs {
		next.attrs = appendOne(next.attrs, h.prefix, &a)
	}
	return &next
}

// WithGroup returns a handler that puts the name and a dot before the keys of attributes.
func (h *Handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	next := *h
	next.prefix = h.prefix + name + "."
	return &next
}

// appendOne appends an attribute. A value whose own methods are called to encode it may panic: its text reports that.
func appendOne(b []byte, prefix string, a *slog.Attr) []byte {
	switch kind := a.Value.Kind(); kind {
	case slog.KindString:
		key, text := len(prefix)+len(a.Key), a.Value.String()
		if key >= 0x80 || len(text) >= 0x80 {
			return appendKind(b, prefix, a.Key, kind, a.Value)
		}
		b = append(b, byte(key)) // most keys and texts are this short
		if prefix != "" {
			b = append(b, prefix...)
		}
		return append(append(append(b, a.Key...), kindText, byte(len(text))), text...)
	case slog.KindAny, slog.KindLogValuer, slog.KindGroup:
		return appendCarefully(b, prefix, *a)
	default:
		return appendKind(b, prefix, a.Key, kind, a.Value)
	}
}

func appendCarefully(attrs []byte, prefix string, a slog.Attr) (done []byte) {
	before := len(attrs)
	defer func() {
		if p := recover(); p != nil {
			done = AppendAttr(attrs[:before], prefix, slog.String(a.Key, panicText(p)))
		}
	}()
	return AppendAttr(attrs, prefix, a)
}

// panicText returns a text for a recovered value. That may panic itself when it is printed.
func panicText(p any) (s string) {
	defer func() {
		if recover() != nil {
			s = "!PANIC"
		}
	}()
	return fmt.Sprintf("!PANIC: %v", p)
}

// sources caches the texts of source lines. A program logs from a bounded number of lines.
var sources sync.Map // of uintptr to string

func appendSource(attrs []byte, pc uintptr) []byte {
	if pc == 0 {
		return attrs
	}
	text, ok := sources.Load(pc)
	if !ok {
		frame, _ := runtime.CallersFrames([]uintptr{pc}).Next()
		folder, file := filepath.Split(frame.File)
		text = filepath.Base(folder) + "/" + file + ":" + strconv.Itoa(frame.Line)
		sources.Store(pc, text)
	}
	return AppendAttr(attrs, "", slog.String("source", text.(string)))
}
