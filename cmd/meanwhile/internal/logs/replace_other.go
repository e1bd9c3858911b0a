//go:build !unix

package logs

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"

	"github.com/meanwhile-go/meanwhile/logs/server"
)

// A replacer does nothing on systems without a signal for it.
type replacer struct{}

func newReplacer(*plan) (*replacer, error) { return &replacer{}, nil }

func (r *replacer) close()                                    {}
func (r *replacer) ready() error                              { return nil }
func (r *replacer) asked() bool                               { return false }
func (r *replacer) ask()                                      {}
func (r *replacer) inherited() ([]server.HandoverConn, error) { return nil, nil }
func (r *replacer) listen(l *server.Listener) (net.Listener, error) {
	return net.Listen("tcp", l.Address)
}

func (r *replacer) listenPacket(l *server.Listener) (net.PacketConn, error) {
	return net.ListenPacket("udp", l.Address)
}

func (r *replacer) replace(context.Context, []server.HandoverConn) error {
	return errors.New("this system cannot replace a running program")
}

// Signals other than those that stop the program. The second is never sent.
var (
	reopenSignal  os.Signal = syscall.SIGHUP
	replaceSignal os.Signal = syscall.SIGABRT
)
