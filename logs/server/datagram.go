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
	mostSenders    = 256 // hosts whose parsers are kept, for what repeats
)

// datagrams takes what comes at an address, until the server ends and the socket holds no more.
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
		if !drainTill.IsZero() { // for each anew: what the one before took is no quiet
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
		from = netip.AddrPortFrom(from.Addr().Unmap(), from.Port()) // as connections have it
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
				clear(parsers) // of addresses anybody can make up more
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
