package main

import (
	"context"
	"net"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

// open starts the parts of the shop and returns.
func open(ctx context.Context) error {
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return err
	}
	start := func(name string, part func(ctx context.Context) error) {
		meanwhile.Go(ctx, part, meanwhile.Name(name))
	}
	start("warehouse", func(ctx context.Context) error { return warehouse(ctx, listener) })
	meanwhile.Every(ctx, 100*time.Millisecond, func(context.Context) error {
		return nil // reports that the shop is alive
	}, meanwhile.Name("heartbeat"))

	address := listener.Addr().String()
	start("receipts", receipts)
	start("parcels", parcels)
	start("stock", func(ctx context.Context) error { return stock(ctx, address) })
	start("index", index)
	start("photos", func(ctx context.Context) error { return photos(ctx, "http://"+address) })
	start("mailer", mailer)
	start("orders", func(ctx context.Context) error { return orders(ctx, address) })
	return nil
}

// silent keeps the connections to the warehouse: otherwise the garbage collector would close them.
var silent []net.Conn

// warehouse accepts every connection and never responds.
func warehouse(ctx context.Context, listener net.Listener) error {
	defer context.AfterFunc(ctx, func() { _ = listener.Close() })()
	for {
		conn, err := listener.Accept()
		if err != nil {
			return ctx.Err()
		}
		silent = append(silent, conn)
	}
}
