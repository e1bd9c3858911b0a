//go:build unix

package harm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

var errEnough = errors.New("enough")

// echo starts a server that answers each line with the same line, and returns its address.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				for lines := bufio.NewScanner(c); lines.Scan(); {
					fmt.Fprintln(c, lines.Text())
				}
			}()
		}
	}()
	return l.Addr().String()
}

func TestProxy(t *testing.T) {
	t.Parallel()
	p, err := NewProxy(echo(t))
	if err != nil {
		t.Fatal(err)
	}
	err = meanwhile.Run(t.Context(), func(ctx context.Context) error {
		serving := meanwhile.Go(ctx, p.Serve)
		c, err := net.Dial("tcp", p.listener.Addr().String())
		if err != nil {
			return err
		}
		defer c.Close()
		answers := bufio.NewReader(c)
		say := func(line string) error {
			_ = c.SetDeadline(time.Now().Add(10 * time.Second))
			fmt.Fprintln(c, line)
			got, err := answers.ReadString('\n')
			if err == nil && got != line+"\n" {
				t.Errorf("said %q, got %q", line, got)
			}
			return err
		}
		if err := say("passed on"); err != nil {
			t.Errorf("passed on: %v", err)
		}

		p.Hold()
		fmt.Fprintln(c, "held")
		_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		if _, err := answers.Peek(1); err == nil {
			t.Error("an answer arrived while traffic was held up")
		}
		p.Release()
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		if got, err := answers.ReadString('\n'); got != "held\n" {
			t.Errorf("after the release got %q, %v", got, err)
		}

		if n := p.cut(func() bool { return true }, true); n != 1 {
			t.Errorf("%d connections were cut, want 1", n)
		}
		if err := say("cut"); err == nil {
			t.Error("a connection that was cut still works")
		}
		serving.Cancel(errEnough)
		_, err = serving.Wait(ctx)
		if !errors.Is(err, errEnough) {
			t.Errorf("serve returned %v", err)
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		t.Error(err)
	}
}
