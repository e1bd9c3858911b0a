package main

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"

	"github.com/meanwhile-go/meanwhile"
)

func init() {
	know(
		stuckCase{name: "copy-file-tcp", start: copyFileTCP, want: []want{
			{path: "waiter", wait: "network", on: "write", at: "copy-file-tcp"},
		}},
		stuckCase{name: "copy-file-unix", start: copyFileUnix, want: []want{
			{path: "waiter", wait: "network", on: "write", at: "copy-file-unix"},
		}},
		stuckCase{name: "copy-tcp", start: copyTCP, want: []want{
			{path: "silent", wait: "network", on: "read", at: "copy-tcp-read"},
			{path: "stalled", wait: "network", on: "write", at: "copy-tcp-write"},
		}},
		stuckCase{name: "copy-tcp-unix", start: copyTCPUnix, want: []want{
			{path: "silent", wait: "network", on: "read", at: "copy-tcp-unix-read"},
			{path: "stalled", wait: "network", on: "write", at: "copy-tcp-unix-write"},
		}},
		stuckCase{name: "copy-tcp-pipe", start: copyTCPPipe, want: []want{
			{path: "silent", wait: "network", on: "read", at: "copy-tcp-pipe-read"},
			{path: "stalled", wait: "file", on: "write", at: "copy-tcp-pipe-write"},
		}},
		stuckCase{name: "copy-pipe-tcp", start: copyPipeTCP, want: []want{
			{path: "silent", wait: "file", on: "read", at: "copy-pipe-tcp-read"},
		}},
	)
}

// pair returns the two ends of a connection.
func pair(network, address string) (near, far net.Conn, err error) {
	l, err := net.Listen(network, address)
	if err != nil {
		return nil, nil, err
	}
	hold(l)
	if near, err = net.Dial(network, l.Addr().String()); err != nil {
		return nil, nil, err
	}
	if far, err = l.Accept(); err != nil {
		return nil, nil, err
	}
	hold(near, far)
	return near, far, nil
}

func tcpPair() (near, far net.Conn, err error) { return pair("tcp", "127.0.0.1:0") }

// stalledTCP returns a connection whose other end does not read. Its buffers are small, so that they stay full.
func stalledTCP() (net.Conn, error) {
	near, far, err := tcpPair()
	if err != nil {
		return nil, err
	}
	if err := near.(*net.TCPConn).SetWriteBuffer(4 << 10); err != nil {
		return nil, err
	}
	return near, far.(*net.TCPConn).SetReadBuffer(4 << 10)
}

func unixPair() (near, far net.Conn, err error) {
	dir, err := tempDir()
	if err != nil {
		return nil, nil, err
	}
	return pair("unix", filepath.Join(dir, "socket"))
}

// large returns a file that is larger than all buffers.
func large() (*os.File, error) {
	dir, err := tempDir()
	if err != nil {
		return nil, err
	}
	f, err := os.Create(filepath.Join(dir, "large"))
	if err != nil {
		return nil, err
	}
	return f, f.Truncate(1 << 30)
}

func copyFileTCP(ctx context.Context) error {
	f, err := large()
	if err != nil {
		return err
	}
	conn, err := stalledTCP()
	if err != nil {
		return err
	}
	meanwhile.Go(ctx, func(context.Context) error {
		_, err := io.Copy(conn, f) // stuck: copy-file-tcp
		return err
	}, meanwhile.Name("waiter"))
	return nil
}

func copyFileUnix(ctx context.Context) error {
	f, err := large()
	if err != nil {
		return err
	}
	conn, _, err := unixPair()
	if err != nil {
		return err
	}
	meanwhile.Go(ctx, func(context.Context) error {
		_, err := io.Copy(conn, f) // stuck: copy-file-unix
		return err
	}, meanwhile.Name("waiter"))
	return nil
}

// flood writes to conn until it blocks, because the other end no longer reads.
func flood(ctx context.Context, conn net.Conn) {
	meanwhile.Go(ctx, func(context.Context) error {
		for {
			if _, err := conn.Write(make([]byte, 64<<10)); err != nil {
				return err
			}
		}
	}, meanwhile.Name("flood"))
}

func copyTCP(ctx context.Context) error {
	_, silent, err := tcpPair()
	if err != nil {
		return err
	}
	sender, source, err := tcpPair()
	if err != nil {
		return err
	}
	idle, _, err := tcpPair()
	if err != nil {
		return err
	}
	stalled, err := stalledTCP()
	if err != nil {
		return err
	}
	meanwhile.Go(ctx, func(context.Context) error {
		_, err := io.Copy(idle, silent) // stuck: copy-tcp-read
		return err
	}, meanwhile.Name("silent"))
	flood(ctx, sender)
	meanwhile.Go(ctx, func(context.Context) error {
		_, err := io.Copy(stalled, source) // stuck: copy-tcp-write
		return err
	}, meanwhile.Name("stalled"))
	return nil
}

func copyTCPUnix(ctx context.Context) error {
	_, silent, err := tcpPair()
	if err != nil {
		return err
	}
	sender, source, err := tcpPair()
	if err != nil {
		return err
	}
	idle, _, err := unixPair()
	if err != nil {
		return err
	}
	meanwhile.Go(ctx, func(context.Context) error {
		_, err := io.Copy(idle, silent) // stuck: copy-tcp-unix-read
		return err
	}, meanwhile.Name("silent"))
	stalled, _, err := unixPair()
	if err != nil {
		return err
	}
	flood(ctx, sender)
	meanwhile.Go(ctx, func(context.Context) error {
		_, err := io.Copy(stalled, source) // stuck: copy-tcp-unix-write
		return err
	}, meanwhile.Name("stalled"))
	return nil
}

// copyTCPPipe copies connections to pipes, as to the input of a command.
func copyTCPPipe(ctx context.Context) error {
	_, silent, err := tcpPair()
	if err != nil {
		return err
	}
	sender, source, err := tcpPair()
	if err != nil {
		return err
	}
	readIdle, idle, err := os.Pipe()
	if err != nil {
		return err
	}
	readStalled, stalled, err := os.Pipe()
	if err != nil {
		return err
	}
	hold(readIdle, readStalled)
	meanwhile.Go(ctx, func(context.Context) error {
		_, err := io.Copy(idle, silent) // stuck: copy-tcp-pipe-read
		return err
	}, meanwhile.Name("silent"))
	flood(ctx, sender)
	meanwhile.Go(ctx, func(context.Context) error {
		_, err := io.Copy(stalled, source) // stuck: copy-tcp-pipe-write
		return err
	}, meanwhile.Name("stalled"))
	return nil
}

func copyPipeTCP(ctx context.Context) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	hold(w)
	conn, _, err := tcpPair()
	if err != nil {
		return err
	}
	meanwhile.Go(ctx, func(context.Context) error {
		_, err := io.Copy(conn, r) // stuck: copy-pipe-tcp-read
		return err
	}, meanwhile.Name("silent"))
	return nil
}
