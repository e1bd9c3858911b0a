// Package nats forwards records to a stream of NATS JetStream.
package nats

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/meanwhile-go/meanwhile/logs"
	"github.com/meanwhile-go/meanwhile/logs/forward"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Config configures an [Output]. All fields but URL and Stream have a default.
type Config struct {
	URL    string // such as nats://host:4222; a user and password, or a token, may precede the host
	Stream string // the name of the stream

	// Subject is the template of subjects. {service} stands for the service, in which characters that subjects do not allow are escaped,
	// such as %2E, and {level} for debug, info, warn or error. Default "logs.{service}.{level}".
	Subject string

	// Create creates the stream if it does not exist: for the subjects of the template, in files, with a duplicate window of ten minutes. If
	// you want replicas and limits, create the stream first.
	Create bool

	Window  int           // the maximum number of messages in flight, without an acknowledgement, of each call of Send; default 512
	Options []nats.Option // options of the connection, such as certificates and credentials
}

// An Output publishes each record as a message: the JSON of [logs.Record.AppendJSON], with the record's [logs.Record.Identity] as
// Nats-Msg-Id, so that the stream discards a record that it has received before within its duplicate window. How durable an acknowledged
// message is depends on the settings of the stream. Only records larger than the server's max_payload, or than the stream's maximum
// message size, are refused.
//
// After an error or a lost connection the next call opens a new connection, since messages may be missing in one that the client library
// resumes. So records arrive in order, unless a stream refuses some records of a batch and accepts later ones, as may happen when a cluster
// changes its leader.
type Output struct {
	config   Config
	template template

	mu   sync.Mutex
	link *link // nil without a connection
}

// A link is a connection.
type link struct {
	raw    net.Conn // the connection below conn; nil if the options have a dialer. conn may block on it with its mutex held
	conn   *nats.Conn
	stream jetstream.JetStream
	closed chan struct{}
}

// cut closes the connection, even while a write blocks because the server reads nothing.
func (l *link) cut() {
	if l.raw != nil {
		_ = l.raw.Close()
	}
}

func (l *link) close() {
	l.cut()
	l.conn.Close()
}

// A dialer is a function that connects.
type dialer func(network, address string) (net.Conn, error)

// Dial implements [nats.CustomDialer].
func (d dialer) Dial(network, address string) (net.Conn, error) { return d(network, address) }

// New returns an output to a stream, or an error if the configuration is invalid. It does not connect.
func New(c Config) (*Output, error) {
	where, err := url.Parse(c.URL)
	switch {
	case err != nil: // the text of err quotes the URL, which may have a password
		return nil, errors.New("the address of NATS is not a URL")
	case where.Host == "":
		return nil, errors.New("the address of NATS is a URL with a host, such as nats://host:4222")
	case c.Stream == "" || strings.ContainsAny(c.Stream, " \t\r\n.*>/\\"):
		return nil, fmt.Errorf("%q is not a valid name of a stream", c.Stream)
	}
	c.Subject = cmp.Or(c.Subject, "logs.{service}.{level}")
	c.Window = cmp.Or(c.Window, 512)
	o := &Output{config: c, template: parseTemplate(c.Subject)}
	for token := range strings.SplitSeq(o.template.wildcard(), ".") {
		if token == "" || token != "*" && strings.ContainsAny(token, " \t\r\n*>{}") {
			return nil, fmt.Errorf("%q is not a template of subjects", c.Subject)
		}
	}
	return o, nil
}

// Send implements [forward.Output].
func (o *Output) Send(ctx context.Context, records []logs.Record) error {
	l, err := o.connect(ctx)
	if err != nil {
		return fmt.Errorf("connect to NATS: %w", err)
	}
	stop := context.AfterFunc(ctx, l.cut) // publishing ignores ctx
	defer stop()
	limit := int(l.conn.MaxPayload())
	var refused forward.RefusedError
	acks := make([]jetstream.PubAckFuture, 0, len(records))
	waited := 0
	for i := range records {
		if len(acks)-waited >= o.config.Window {
			if err := l.wait(ctx, acks[waited]); !refuse(&refused, err) && err != nil {
				l.awaitAcks(ctx, acks[waited+1:])
				return o.fail(l, err)
			}
			waited++
		}
		r := &records[i]
		message := &nats.Msg{Subject: o.template.subject(r.Service, r.Level), Data: r.AppendJSON(nil), Header: nats.Header{}}
		id := r.Identity()
		message.Header.Set(jetstream.MsgIDHeader, id)
		if size := len(message.Data) + len(id) + 256; size > limit { // the header counts as well
			refused.Count++
			refused.Why = cmp.Or(refused.Why, fmt.Sprintf("a message of %d bytes, the server takes %d", size, limit))
			continue
		}
		ack, err := l.stream.PublishMsgAsync(message, jetstream.WithExpectStream(o.config.Stream), jetstream.WithRetryAttempts(0))
		if err != nil {
			return o.fail(l, cmp.Or(context.Cause(ctx), err))
		}
		acks = append(acks, ack)
	}
	for i, ack := range acks[waited:] {
		if err := l.wait(ctx, ack); !refuse(&refused, err) && err != nil {
			l.awaitAcks(ctx, acks[waited+i+1:])
			return o.fail(l, err)
		}
	}
	if refused.Count > 0 {
		return &refused
	}
	return nil
}

// refuse reports whether an error says that a message is larger than the stream accepts, and counts it then.
func refuse(refused *forward.RefusedError, err error) bool {
	if !errors.Is(err, jetstream.ErrStreamMessageExceedsMaximum) {
		return false
	}
	refused.Count++
	refused.Why = cmp.Or(refused.Why, "a message that is larger than the stream takes")
	return true
}

// wait waits for an acknowledgement.
func (l *link) wait(ctx context.Context, ack jetstream.PubAckFuture) error {
	select {
	case <-ack.Ok():
		return nil
	case err := <-ack.Err():
		return err
	case <-l.closed:
		return nats.ErrConnectionClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// awaitAcks waits for the acknowledgements of messages in flight. Otherwise a stream that refuses messages for a while could store some of
// them late, after those of the next call.
func (l *link) awaitAcks(ctx context.Context, acks []jetstream.PubAckFuture) {
	for _, ack := range acks {
		_ = l.wait(ctx, ack) // the whole batch is sent again anyway
	}
}

// fail closes a connection after an error, so that messages in flight on it cannot arrive after those of the next call, which opens another
// one.
func (o *Output) fail(l *link, err error) error {
	o.mu.Lock()
	if o.link == l {
		o.link = nil
	}
	o.mu.Unlock()
	l.close()
	return fmt.Errorf("publish to stream %s: %w", o.config.Stream, err)
}

// connect returns the connection, and connects if there is none.
func (o *Output) connect(ctx context.Context) (*link, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.link != nil && o.link.conn.IsConnected() {
		return o.link, nil
	}
	if o.link != nil {
		o.link.close()
		o.link = nil
	}
	if ctx.Err() != nil { // ctx was canceled while another call connected
		return nil, context.Cause(ctx)
	}
	l := &link{closed: make(chan struct{})}
	timeout := 10 * time.Second
	if deadline, ok := ctx.Deadline(); ok {
		timeout = min(timeout, max(time.Until(deadline), time.Millisecond))
	}
	dialing, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	dial := dialer(func(network, address string) (conn net.Conn, err error) {
		if conn, err = new(net.Dialer).DialContext(dialing, network, address); err == nil {
			l.raw = conn
			context.AfterFunc(dialing, func() {
				if ctx.Err() != nil { // the client library ignores ctx until the first response
					_ = conn.Close()
				}
			})
		}
		return conn, err
	})
	options := append([]nats.Option{nats.Name("meanwhile logs"), nats.Timeout(timeout), nats.SetCustomDialer(dial)}, o.config.Options...)
	options = append(
		options, nats.NoReconnect(), nats.RetryOnFailedConnect(false),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // Send returns errors; by default they are printed
		nats.ClosedHandler(func(*nats.Conn) { close(l.closed) }),
	)
	var err error
	if l.conn, err = nats.Connect(o.config.URL, options...); err != nil {
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	if l.stream, err = jetstream.New(l.conn, jetstream.WithPublishAsyncMaxPending(1<<20)); err == nil {
		err = o.find(ctx, l.stream)
	}
	if err != nil {
		l.close()
		return nil, err
	}
	o.link = l
	return l, nil
}

// find returns an error if the stream does not exist, or creates it if the configuration says so.
func (o *Output) find(ctx context.Context, js jetstream.JetStream) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_, err := js.Stream(ctx, o.config.Stream)
	if !o.config.Create || !errors.Is(err, jetstream.ErrStreamNotFound) {
		return err
	}
	_, err = js.CreateStream(ctx, jetstream.StreamConfig{
		Name: o.config.Stream, Subjects: []string{o.template.wildcard()}, Storage: jetstream.FileStorage, Duplicates: 10 * time.Minute,
	})
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return nil // another process has created it in the meantime
	}
	return err
}

// Close implements [forward.Output].
func (o *Output) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.link != nil {
		o.link.close()
		o.link = nil
	}
	return nil
}
