package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"

	"github.com/meanwhile-go/meanwhile"
)

func init() {
	know(
		way{name: "http-pool", start: httpPool, want: []want{
			{path: "waiter", wait: "HTTP connection pool", at: "http-pool"},
		}},
		way{name: "http-connect", start: httpConnect, want: []want{
			{path: "waiter", wait: "network", on: "HTTP connection", at: "http-connect"},
		}, also: []string{"http-connecting"}},
		way{name: "http2-answer", start: http2Answer, want: []want{
			{path: "waiter", wait: "network", on: "HTTP answer", at: "http2-answer"},
		}},
		way{name: "http2-body", start: http2Body, want: []want{
			{path: "waiter", wait: "network", on: "read", at: "http2-body"},
		}},
		way{name: "http2-handler", start: http2Handler, want: []want{
			{path: "reader", wait: "network", on: "read", at: "http2-handler-read"},
		}},
		way{name: "http-serve", start: httpServe, want: []want{
			{path: "server", wait: "network", on: "accept", at: "http-serve"},
		}},
	)
}

// get asks a server and returns the body of its answer.
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

// begin sends the head of an answer, and no more.
func begin(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	select {}
}

// httpPool has a client with one connection for each host, whose body is not read to its end.
func httpPool(ctx context.Context) error {
	url, err := serve(begin)
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
	url, err := serve(begin)
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

// http2Handler has a handler that reads a body which does not come. (One whose answer is not read goes on at times, until both
// sides have agreed on their windows, so it is in no case.)
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

// httpServe waits for connections. (Its Shutdown is in no case: it asks again and again whether all requests have ended.)
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
