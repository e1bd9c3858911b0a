package main

import (
	"context"
	"io"
	"net"
	"path/filepath"

	"github.com/meanwhile-go/meanwhile"
)

func init() {
	know(
		stuckCase{name: "network-read", start: networkRead, want: []want{
			{path: "waiter", wait: "network", at: "network-read", has: []string{"read"}},
		}},
		stuckCase{name: "network-write", start: networkWrite, want: []want{
			{path: "waiter", wait: "network", at: "network-write", has: []string{"write"}},
		}},
		stuckCase{name: "accept", start: accept, want: []want{
			{path: "waiter", wait: "network", at: "accept", has: []string{"accept"}},
		}},
		stuckCase{name: "udp-read", start: udpRead, want: []want{
			{path: "waiter", wait: "network", at: "udp-read", has: []string{"read"}},
		}},
		stuckCase{name: "unix-socket", start: unixSocket, want: []want{
			{path: "waiter", wait: "network", at: "unix-socket", has: []string{"read"}},
		}},
		stuckCase{name: "dns", start: dns, want: []want{
			{path: "address", wait: "network", at: "dns-address", has: []string{"lookup"}},
			{path: "text", wait: "network", at: "dns-text"},
		}},
	)
}

// silent returns a listener that never answers: the kernel accepts connections, and nothing is sent on them.
func silent(network, address string) (net.Listener, error) {
	l, err := net.Listen(network, address)
	hold(l)
	return l, err
}

func networkRead(ctx context.Context) error {
	l, err := silent("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return err
	}
	meanwhile.Go(ctx, func(context.Context) error {
		_, err := conn.Read(make([]byte, 1)) // stuck: network-read
		return err
	}, meanwhile.Name("waiter"))
	return nil
}

// networkWrite writes more than the buffers can hold. The buffers of a Unix socket keep their size; TCP finds a little buffer space now and then, and
// then the writer is in a system call.
func networkWrite(ctx context.Context) error {
	dir, err := tempDir()
	if err != nil {
		return err
	}
	l, err := silent("unix", filepath.Join(dir, "socket"))
	if err != nil {
		return err
	}
	conn, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		return err
	}
	meanwhile.Go(ctx, func(context.Context) error {
		for {
			if _, err := conn.Write(make([]byte, 1<<20)); err != nil { // stuck: network-write
				return err
			}
		}
	}, meanwhile.Name("waiter"))
	return nil
}

func accept(ctx context.Context) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	meanwhile.Go(ctx, func(context.Context) error {
		_, err := l.Accept() // stuck: accept
		return err
	}, meanwhile.Name("waiter"))
	return nil
}

func udpRead(ctx context.Context) error {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	meanwhile.Go(ctx, func(context.Context) error {
		_, _, err := conn.ReadFrom(make([]byte, 1)) // stuck: udp-read
		return err
	}, meanwhile.Name("waiter"))
	return nil
}

func unixSocket(ctx context.Context) error {
	dir, err := tempDir()
	if err != nil {
		return err
	}
	l, err := silent("unix", filepath.Join(dir, "socket"))
	if err != nil {
		return err
	}
	conn, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		return err
	}
	meanwhile.Go(ctx, func(context.Context) error {
		_, err := io.ReadFull(conn, make([]byte, 1)) // stuck: unix-socket
		return err
	}, meanwhile.Name("waiter"))
	return nil
}

// dns asks a name server that never answers. The lookup of an address runs in goroutines of the resolver.
func dns(ctx context.Context) error {
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	hold(server)
	resolver := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("udp", server.LocalAddr().String())
	}}
	meanwhile.Go(ctx, func(ctx context.Context) error {
		_, err := resolver.LookupHost(ctx, "nobody.invalid.") // stuck: dns-address
		return err
	}, meanwhile.Name("address"))
	meanwhile.Go(ctx, func(ctx context.Context) error {
		_, err := resolver.LookupTXT(ctx, "nobody.invalid.") // stuck: dns-text
		return err
	}, meanwhile.Name("text"))
	return nil
}
