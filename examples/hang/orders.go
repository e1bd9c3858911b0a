package main

import (
	"bufio"
	"context"
	"net"
)

// orders reads orders from the warehouse. It has a ctx, but reading from the connection ignores it, and no deadline is set.
func orders(ctx context.Context, address string) error {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	lines := bufio.NewScanner(conn)
	for lines.Scan() {
		deliver(lines.Text())
	}
	return lines.Err()
}

func deliver(string) {}
