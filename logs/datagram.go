package logs

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/meanwhile-go/meanwhile"
)

const (
	datagramRoom   = 64 << 10
	datagramBuffer = 8 << 20 // asked of the system, which may give less
)

// datagrams takes what comes at an address, until the server ends and the socket holds no more.
func (s *Server) datagrams(ctx context.Context, l *openListener) error {
	conn, ok := l.packet.(*net.UDPConn)
	if !ok {
		return errors.New("datagrams come by UDP")
	}
	_ = conn.SetReadBuffer(datagramBuffer)
	f := &feed{s: s, way: s.wayCounts(l.Name)}
	var last netip.AddrPort
	var origin string
	buf := make([]byte, datagramRoom)
	var drainTill time.Time
	for {
		n, from, err := conn.ReadFromUDPAddrPort(buf)
		if errors.Is(err, os.ErrDeadlineExceeded) || err == nil && s.ends() && !drainTill.IsZero() && time.Now().After(drainTill) {
			if s.handing.Load() || !drainTill.IsZero() {
				return conn.Close()
			}
			drainTill = time.Now().Add(drainTime)
			_ = conn.SetReadDeadline(time.Now().Add(quietTime))
			continue
		}
		if err != nil {
			s.say("logs: read datagrams", l.Name, "", err)
			if errors.Is(err, net.ErrClosed) || meanwhile.Sleep(ctx, firstRetry) != nil {
				return nil
			}
			continue
		}
		if from != last {
			last, origin = from, from.String()
		}
		p := l.Way.Parser(origin, nil)
		taken, _, err := p.Parse(buf[:n], f)
		if err == nil && taken < n {
			p.End(buf[taken:n], f)
		}
		if err != nil {
			s.say("logs: a datagram", l.Name, origin, err)
		}
		if f.Flush(ctx) != nil {
			return nil
		}
	}
}
