//go:build unix

package logs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cloudflare/tableflip"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs/server"
)

const (
	replaceTime    = 30 * time.Second // for the next program to start; if it does not, this one continues
	parentTime     = 30 * time.Second // for the previous program to end
	handoverSocket = "connections"    // name of the socket that passes connections
)

// A replacer replaces this process by a new one at USR2, without closing listening addresses or connections.
type replacer struct {
	upgrader *tableflip.Upgrader
	logger   *slog.Logger
	want     atomic.Bool
	began    bool

	mu      sync.Mutex
	streams map[string]net.Listener // by name, open until the program ends
	packets map[string]net.PacketConn
}

func newReplacer(p *plan) (*replacer, error) {
	upgrader, err := tableflip.New(tableflip.Options{UpgradeTimeout: replaceTime, PIDFile: p.PIDFile})
	if err != nil {
		return nil, fmt.Errorf("take over from the program before: %w", err)
	}
	return &replacer{upgrader: upgrader, logger: p.logger, streams: map[string]net.Listener{}, packets: map[string]net.PacketConn{}}, nil
}

func (r *replacer) close() { r.upgrader.Stop() }

// ready reports, once, that the program serves: to the previous program, which then exits, and by writing the PID file. A program that continues
// because its successor failed is ready again, but its predecessor has long exited.
func (r *replacer) ready() error {
	if r.began {
		return nil
	}
	err := r.upgrader.Ready()
	if err == nil {
		r.began = true
		return nil
	}
	if why, ok := strings.CutPrefix(err.Error(), "tableflip: can't write PID file: "); ok {
		return fmt.Errorf("--pid-file: %s", why)
	}
	return err
}

// asked reports whether a replacement was requested, once for each request.
func (r *replacer) asked() bool { return r.want.Swap(false) }

// ask requests a replacement of the program.
func (r *replacer) ask() { r.want.Store(true) }

// listen returns a listener that can be closed, while the address stays open.
func (r *replacer) listen(l *server.Listener) (net.Listener, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := r.streams[l.Name]
	if kept == nil {
		var opening error
		opened, err := r.upgrader.ListenWithCallback(l.Name, l.Address, func(_, address string) (net.Listener, error) {
			var opened net.Listener
			opened, opening = net.Listen("tcp", address)
			return opened, opening
		})
		if err != nil {
			return nil, errors.Join(opening, unless(opening, err))
		}
		kept, r.streams[l.Name] = opened, opened
	}
	f, err := kept.(*net.TCPListener).File()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return net.FileListener(f)
}

func (r *replacer) listenPacket(l *server.Listener) (net.PacketConn, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := r.packets[l.Name]
	if kept == nil {
		var opening error
		opened, err := r.upgrader.ListenPacketWithCallback(l.Name, l.Address, func(_, address string) (net.PacketConn, error) {
			var opened net.PacketConn
			opened, opening = net.ListenPacket("udp", address)
			return opened, opening
		})
		if err != nil {
			return nil, errors.Join(opening, unless(opening, err))
		}
		kept, r.packets[l.Name] = opened, opened
	}
	f, err := kept.(*net.UDPConn).File()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return net.FilePacketConn(f)
}

// unless returns err, or nil if first, which has the same cause, is an error.
func unless(first, err error) error {
	if first != nil {
		return nil
	}
	return err
}

// replace starts the program at the path of this one, passes it the connections, and returns nil when it serves.
func (r *replacer) replace(ctx context.Context, conns []server.HandoverConn) error {
	waiting, cancel := context.WithTimeout(ctx, parentTime)
	defer cancel()
	if err := r.upgrader.WaitForParent(waiting); err != nil {
		return fmt.Errorf("the program before has not ended: %w", err)
	}
	ours, theirs, err := socketPair()
	if err != nil {
		return err
	}
	defer ours.Close()
	defer theirs.Close()
	if err := r.upgrader.AddFile(handoverSocket, theirs); err != nil {
		return err
	}
	return meanwhile.Run(ctx, func(ctx context.Context) error {
		sending := meanwhile.Async(ctx, func(context.Context) (failed, _ error) {
			return sendConns(ours, conns), nil // as a result, since an error would cancel the scope
		}, meanwhile.Name("hand over connections"))
		err := r.upgrader.Upgrade()
		if err != nil {
			_ = ours.SetDeadline(time.Unix(1, 0))
		}
		sent, _ := sending.Wait(context.WithoutCancel(ctx))
		if err != nil {
			return errors.Join(err, r.takeBack(theirs))
		}
		if sent != nil { // it has started without them
			r.logger.Error("logs: connections were lost", "error", sent)
		}
		return nil
	}, meanwhile.Name("replace the program"))
}

// takeBack closes connections that were in transit, so that no process holds them.
func (r *replacer) takeBack(theirs *os.File) error {
	conn, err := net.FileConn(theirs)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	conns, _ := receiveConns(conn.(*net.UnixConn)) // those that were sent before the failure
	for _, h := range conns {
		_ = h.Conn.Close()
	}
	return nil
}

// inherited returns the connections that the previous program has handed over, if any.
func (r *replacer) inherited() ([]server.HandoverConn, error) {
	f, err := r.upgrader.File(handoverSocket)
	if f == nil || err != nil {
		return nil, err
	}
	defer f.Close()
	conn, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(replaceTime))
	conns, err := receiveConns(conn.(*net.UnixConn))
	if err != nil {
		return nil, fmt.Errorf("take connections over: %w", err)
	}
	return conns, nil
}

// Signals other than those that stop the program.
var (
	reopenSignal  os.Signal = syscall.SIGHUP
	replaceSignal os.Signal = syscall.SIGUSR2
)
