package server

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs/input"
)

const (
	datagramRoom   = 64 << 10
	datagramBuffer = 8 << 20 // asked of the system, which may give less
	datagramRetry  = 100 * time.Millisecond
	mostSenders    = 256 // hosts whose parsers are kept and used again
)

// datagrams receives datagrams at an address, until the server ends and the socket's buffer is empty.
func (s *Server) datagrams(ctx context.Context, l *openListener) error {
	conn, ok := l.packet.(*net.UDPConn)
	if !ok {
		return errors.New("datagrams come by UDP")
	}
	_ = conn.SetReadBuffer(datagramBuffer)
	f := &batcher{s: s, counts: s.inputCounts(l.Name)}
	var last netip.AddrPort
	var origin string
	parsers := make(map[netip.Addr]input.Parser)
	buf := make([]byte, datagramRoom)
	var drainTill time.Time
	quiet := 0
	for drainTill.IsZero() || time.Now().Before(drainTill) {
		if !drainTill.IsZero() { // again for each datagram, since parsing the one before took time
			_ = conn.SetReadDeadline(time.Now().Add(quietTime))
		}
		n, from, err := conn.ReadFromUDPAddrPort(buf)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			if drainTill.IsZero() {
				drainTill = time.Now().Add(drainTime)
			} else {
				quiet++
			}
			if s.handingOver.Load() || quiet == mostQuietReads {
				break
			}
			continue
		}
		quiet = 0
		if err != nil {
			s.logLimited("logs: read datagrams", l.Name, "", err)
			if errors.Is(err, net.ErrClosed) || meanwhile.Sleep(ctx, datagramRetry) != nil {
				return nil
			}
			continue
		}
		from = netip.AddrPortFrom(from.Addr().Unmap(), from.Port()) // IPv4 as in the addresses of connections
		if !l.allows(from.Addr()) {
			f.Refuse(refusedAddress)
			continue
		}
		if from != last {
			last, origin = from, from.String()
		}
		p := parsers[from.Addr()]
		if p == nil {
			if len(parsers) >= mostSenders {
				clear(parsers) // addresses of senders may be spoofed, without a limit to their number
			}
			p = l.Protocol.Parser(origin, nil)
			parsers[from.Addr()] = p
		}
		taken, _, err := p.Parse(buf[:n], f)
		if err == nil && taken < n {
			p.End(buf[taken:n], f)
		}
		if err != nil {
			delete(parsers, from.Addr())
			s.logLimited("logs: a datagram", l.Name, origin, err)
		}
		if f.Flush(ctx) != nil {
			return nil
		}
	}
	return conn.Close()
}
