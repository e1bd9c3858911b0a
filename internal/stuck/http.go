//go:build !meanwhile_fewcases

package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"

	"github.com/meanwhile-go/meanwhile"
)

func init() {
	know(
		stuckCase{name: "tls-read", start: tlsRead, want: []want{{path: "waiter", wait: "network", on: "read", at: "tls-read"}}},
		stuckCase{name: "tls-handshake", start: tlsHandshake, want: []want{
			{path: "waiter", wait: "network", at: "tls-handshake"},
		}},
		stuckCase{name: "http-answer", start: httpAnswer, want: []want{
			{path: "waiter", wait: "network", at: "http-answer"},
		}},
		stuckCase{name: "http-body", start: httpBody, want: []want{
			{path: "waiter", wait: "network", at: "http-body"},
		}},
		stuckCase{name: "http-pool", start: httpPool, want: []want{
			{path: "waiter", wait: "HTTP connection pool", at: "http-pool"},
		}},
		stuckCase{name: "http-connect", start: httpConnect, want: []want{
			{path: "waiter", wait: "network", on: "HTTP connection", at: "http-connect"},
		}, also: []string{"http-connecting"}},
		stuckCase{name: "http2-answer", start: http2Answer, want: []want{
			{path: "waiter", wait: "network", on: "HTTP answer", at: "http2-answer"},
		}},
		stuckCase{name: "http2-body", start: http2Body, want: []want{
			{path: "waiter", wait: "network", on: "read", at: "http2-body"},
		}},
		stuckCase{name: "http2-handler", start: http2Handler, want: []want{
			{path: "reader", wait: "network", on: "read", at: "http2-handler-read"},
		}},
		stuckCase{name: "http2-unread", start: http2Unread, want: []want{
			{path: "writer", wait: "network", on: "write", at: "http2-unread"},
		}},
		stuckCase{name: "http2-flush", start: http2Flush, want: []want{
			{path: "handler", wait: "network", on: "write", at: "http2-flush"},
		}},
		stuckCase{name: "http-client-conn", start: httpClientConn, want: []want{
			{path: "handshake", wait: "network", on: "HTTP connection", at: "http-client-conn"},
			{path: "proxy", wait: "network", on: "HTTP connection", at: "http-client-conn"},
		}},
		stuckCase{name: "http-shutdown", start: httpShutdown, want: []want{
			{path: "stopper", wait: "select", at: "http-shutdown", polls: true},
			{path: "handler", wait: "receive", at: "http-shutdown-handler"},
		}},
		stuckCase{name: "http-serve", start: httpServe, want: []want{
			{path: "server", wait: "network", on: "accept", at: "http-serve"},
		}},
	)
}

// tlsRead reads a line from a server that sends nothing after the handshake.
func tlsRead(ctx context.Context) error {
	server := httptest.NewTLSServer(http.HandlerFunc(sendHead))
	hold(server)
	conn, err := tls.Dial("tcp", server.Listener.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		return err
	}
	meanwhile.Go(ctx, func(context.Context) error {
		_, err := bufio.NewReader(conn).ReadString('\n') // stuck: tls-read
		return err
	}, meanwhile.Name("waiter"))
	return nil
}

func tlsHandshake(ctx context.Context) error {
	l, err := silent("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	meanwhile.Go(ctx, func(context.Context) error {
		_, err := tls.Dial("tcp", l.Addr().String(), nil) // stuck: tls-handshake
		return err
	}, meanwhile.Name("waiter"))
	return nil
}

func httpAnswer(ctx context.Context) error {
	l, err := silent("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	client := &http.Client{Transport: new(http.Transport)} // no proxy
	meanwhile.Go(ctx, func(context.Context) error {
		answer, err := client.Get("http://" + l.Addr().String()) // stuck: http-answer
		if err != nil {
			return err
		}
		return answer.Body.Close()
	}, meanwhile.Name("waiter"))
	return nil
}

// httpBody has a server that promises ten bytes and sends none.
func httpBody(ctx context.Context) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	meanwhile.Go(ctx, func(context.Context) error {
		conn, err := l.Accept()
		hold(l, conn)
		if err != nil {
			return err
		}
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
			return err
		}
		_, err = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n")
		return err
	}, meanwhile.Name("server"))
	client := &http.Client{Transport: new(http.Transport)}
	meanwhile.Go(ctx, func(context.Context) error {
		answer, err := client.Get("http://" + l.Addr().String())
		if err != nil {
			return err
		}
		_, err = io.ReadAll(answer.Body) // stuck: http-body
		return err
	}, meanwhile.Name("waiter"))
	return nil
}

// get sends a request and returns the body of the response.
func get(client *http.Client, url string) (io.ReadCloser, error) {
	answer, err := client.Get(url)
	if err != nil {
		return nil, err
	}
	hold(answer)
	return answer.Body, nil
}

// serve starts a server for both versions of HTTP, without TLS.
func serve(handler http.HandlerFunc) (url string, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: handler, Protocols: new(http.Protocols)}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = server.Serve(l) }()
	return "http://" + l.Addr().String(), nil
}

func newHTTP2() *http.Client {
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	return &http.Client{Transport: transport}
}

// sendHead sends the header of a response and nothing more.
func sendHead(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	select {}
}

// httpPool has a client with one connection for each host, which is in use: the body of its response is not read to the end.
func httpPool(ctx context.Context) error {
	url, err := serve(sendHead)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
	if _, err := get(client, url); err != nil {
		return err
	}
	meanwhile.Go(ctx, func(context.Context) error {
		answer, err := client.Get(url) // stuck: http-pool
		if err != nil {
			return err
		}
		return answer.Body.Close()
	}, meanwhile.Name("waiter"))
	return nil
}

// httpConnect has a client that never gets a connection.
func httpConnect(ctx context.Context) error {
	never := make(chan int)
	client := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		<-never // stuck: http-connecting
		return nil, errors.New("no connection")
	}}}
	meanwhile.Go(ctx, func(context.Context) error {
		answer, err := client.Get("http://nobody.invalid") // stuck: http-connect
		if err != nil {
			return err
		}
		return answer.Body.Close()
	}, meanwhile.Name("waiter"))
	return nil
}

func http2Answer(ctx context.Context) error {
	url, err := serve(func(http.ResponseWriter, *http.Request) { select {} })
	if err != nil {
		return err
	}
	client := newHTTP2()
	meanwhile.Go(ctx, func(context.Context) error {
		answer, err := client.Get(url) // stuck: http2-answer
		if err != nil {
			return err
		}
		return answer.Body.Close()
	}, meanwhile.Name("waiter"))
	return nil
}

func http2Body(ctx context.Context) error {
	url, err := serve(sendHead)
	if err != nil {
		return err
	}
	body, err := get(newHTTP2(), url)
	if err != nil {
		return err
	}
	meanwhile.Go(ctx, func(context.Context) error {
		_, err = io.ReadAll(body) // stuck: http2-body
		return err
	}, meanwhile.Name("waiter"))
	return nil
}

// http2Handler has a handler that reads a request body which never arrives.
func http2Handler(ctx context.Context) error {
	url, err := serve(func(_ http.ResponseWriter, r *http.Request) {
		_ = meanwhile.Run(ctx, func(context.Context) error {
			_, err := io.ReadAll(r.Body) // stuck: http2-handler-read
			return err
		}, meanwhile.Name("reader"))
	})
	if err != nil {
		return err
	}
	r, w := io.Pipe()
	hold(w)
	client := newHTTP2()
	go func() {
		answer, err := client.Post(url, "text/plain", r)
		hold(answer, err)
	}()
	return nil
}

// http2Unread has a handler that writes a body which nobody reads. It does so in one Write that is larger than the window of the client: with
// several, a snapshot could find it in each of them until the window is full.
func http2Unread(ctx context.Context) error {
	url, err := serve(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		_ = meanwhile.Run(ctx, func(context.Context) error {
			_, err := w.Write(make([]byte, 16<<20)) // stuck: http2-unread
			return err
		}, meanwhile.Name("writer"))
	})
	if err != nil {
		return err
	}
	body, err := get(newHTTP2(), url)
	hold(body)
	return err
}

// A stuckListener has connections to which nothing can be written once full is closed. The first write that is stuck closes stuck.
type stuckListener struct {
	net.Listener
	full, stuck chan struct{}
	once        *sync.Once
}

type stuckConn struct {
	net.Conn
	of stuckListener
}

func (l stuckListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return stuckConn{conn, l}, err
}

func (c stuckConn) Write(p []byte) (int, error) {
	select {
	case <-c.of.full:
		c.of.once.Do(func() { close(c.of.stuck) })
		select {}
	default:
		return c.Conn.Write(p)
	}
}

// http2Flush has a handler that sends the header of its response over a connection that is stuck in a write, that of the previous response.
func http2Flush(ctx context.Context) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	full, stuck := make(chan struct{}), make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("/first", func(w http.ResponseWriter, r *http.Request) {
		close(full)
		_ = http.NewResponseController(w).Flush() // it does not wait: the header goes to a buffer
		<-r.Context().Done()
	})
	mux.HandleFunc("/second", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain") // what was set is not copied, so the handler waits until it is written
		_ = meanwhile.Run(ctx, func(context.Context) error {
			return http.NewResponseController(w).Flush() // stuck: http2-flush
		}, meanwhile.Name("handler"))
	})
	server := &http.Server{Protocols: new(http.Protocols), Handler: mux}
	server.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = server.Serve(stuckListener{l, full, stuck, new(sync.Once)}) }()
	client := newHTTP2()
	ask := func(path string) {
		body, err := get(client, "http://"+l.Addr().String()+path)
		hold(body, err)
	}
	go ask("/first")
	<-stuck // a response that is sent earlier would go to the buffer as well
	go ask("/second")
	return nil
}

// httpClientConn makes connections to a server and a proxy that never answer, in the goroutine of a task.
func httpClientConn(ctx context.Context) error {
	l, err := silent("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	proxy := http.ProxyURL(&url.URL{Scheme: "http", Host: l.Addr().String()})
	for name, transport := range map[string]*http.Transport{"handshake": {}, "proxy": {Proxy: proxy}} {
		meanwhile.Go(ctx, func(ctx context.Context) error {
			conn, err := transport.NewClientConn(ctx, "https", l.Addr().String()) // stuck: http-client-conn
			hold(conn)
			return err
		}, meanwhile.Name(name))
	}
	return nil
}

// httpShutdown has a server that waits for the end of a request. It polls, in the end twice a second, so a snapshot may find it running.
func httpShutdown(ctx context.Context) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	never, begun := make(chan int), make(chan struct{})
	server := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		_ = meanwhile.Run(ctx, func(context.Context) error {
			close(begun)
			<-never // stuck: http-shutdown-handler
			return nil
		}, meanwhile.Name("handler"))
	})}
	go func() { _ = server.Serve(l) }()
	go func() {
		answer, err := http.Get("http://" + l.Addr().String())
		hold(answer, err)
	}()
	<-begun
	meanwhile.Go(ctx, func(ctx context.Context) error {
		return server.Shutdown(ctx) // stuck: http-shutdown
	}, meanwhile.Name("stopper"))
	return nil
}

// httpServe waits for connections.
func httpServe(ctx context.Context) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	meanwhile.Go(ctx, func(context.Context) error {
		return new(http.Server).Serve(l) // stuck: http-serve
	}, meanwhile.Name("server"))
	return nil
}
