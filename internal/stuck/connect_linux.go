package main

import (
	"context"
	"fmt"
	"net"
	"syscall"

	"github.com/meanwhile-go/meanwhile"
)

func init() {
	know(stuckCase{name: "connect", start: connect, want: []want{
		{path: "waiter", wait: "network", at: "connect", has: []string{"connect"}},
	}})
}

// connect dials a listener whose backlog is full: Linux then drops new connection requests.
func connect(ctx context.Context) error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return fmt.Errorf("make a socket: %w", err)
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return fmt.Errorf("bind the socket: %w", err)
	}
	if err := syscall.Listen(fd, 0); err != nil { // a backlog of 0 still holds one connection
		return fmt.Errorf("listen: %w", err)
	}
	bound, err := syscall.Getsockname(fd)
	if err != nil {
		return fmt.Errorf("find the socket's port: %w", err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", bound.(*syscall.SockaddrInet4).Port)
	first, err := net.Dial("tcp", address)
	hold(first)
	if err != nil {
		return err
	}
	meanwhile.Go(ctx, func(context.Context) error {
		_, err := net.Dial("tcp", address) // stuck: connect
		return err
	}, meanwhile.Name("waiter"))
	return nil
}
