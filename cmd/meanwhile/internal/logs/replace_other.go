//go:build !unix

package logs

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"

	"github.com/meanwhile-go/meanwhile/logs"
)

// A replacer replaces nothing where there is no signal to ask for it.
type replacer struct{}

func newReplacer(*plan) (*replacer, error) { return &replacer{}, nil }

func (r *replacer) close()                                {}
func (r *replacer) ready() error                          { return nil }
func (r *replacer) asked() bool                           { return false }
func (r *replacer) ask()                                  {}
func (r *replacer) inherited() ([]logs.HandedConn, error) { return nil, nil }
func (r *replacer) listen(l *logs.Listener) (net.Listener, error) {
	return net.Listen("tcp", l.Address)
}

func (r *replacer) listenPacket(l *logs.Listener) (net.PacketConn, error) {
	return net.ListenPacket("udp", l.Address)
}

func (r *replacer) replace(context.Context, []logs.HandedConn) error {
	return errors.New("this system cannot replace a running program")
}

// Signals that ask for something other than the end. The second comes from nowhere.
var (
	reopenSignal  os.Signal = syscall.SIGHUP
	replaceSignal os.Signal = syscall.SIGABRT
)
