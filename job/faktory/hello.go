package faktory

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/meanwhile-go/meanwhile"
)

const (
	rounds       = 5000    // of the hash of a password
	mostHello    = 8 << 10 // bytes
	mostWorkerID = 120
	mostHost     = 255
	mostLabels   = 20
	mostLabel    = 60
)

// A hello is the argument of HELLO.
type hello struct {
	Hash   string          `json:"pwdhash"`
	Worker string          `json:"wid"`
	Host   string          `json:"hostname"`
	PID    json.RawMessage `json:"pid"` // a number, or a string of one
	Labels []string        `json:"labels"`
}

func (h *hello) pid() (n int) {
	_ = json.Unmarshal(bytes.Trim(h.PID, `"`), &n)
	return n
}

// greet performs the handshake, within two seconds.
func (c *conn) greet(ctx context.Context) error {
	if err := c.lines.readWithin(ctx, helloTime); err != nil {
		return err
	}
	salt, greeting := "", `HI {"v":2}`
	if c.server.config.Password != "" {
		var random [8]byte
		_, _ = rand.Read(random[:])
		salt = hex.EncodeToString(random[:])
		greeting = fmt.Sprintf(`HI {"v":2,"i":%d,"s":"%s"}`, rounds, salt)
	}
	if err := c.write(simple(greeting)); err != nil {
		return err
	}
	h, err := c.readHello(ctx)
	if err == nil && c.server.config.Password != "" && !rightHash(h.Hash, c.server.config.Password, salt) {
		address := c.socket.RemoteAddr().String()
		c.server.passwords.Warn(c.server.config.Logger, "faktory: a client has a wrong password", "address", address)
		c.server.guesses.wrong(ctx, address)
		err = refuse("Invalid password")
	}
	if err != nil {
		if refused, ok := errors.AsType[*refusal](err); ok {
			_ = c.write(failed(refused))
			c.linger()
		}
		return err
	}
	if h.Worker != "" {
		c.client = c.server.clients.connect(h)
	}
	if err := c.socket.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	if err := c.write(ok); err != nil {
		return err
	}
	return ctx.Err()
}

func (c *conn) readHello(ctx context.Context) (h hello, err error) {
	line, done, err := c.lines.line(ctx, mostHello)
	defer done()
	switch {
	case errors.Is(err, errLongLine):
		return h, refuse("HELLO has more than %d bytes", mostHello)
	case err != nil:
		return h, err
	}
	verb, args, _ := bytes.Cut(line, []byte(" "))
	if string(verb) != "HELLO" {
		return h, refuse("the first command has to be HELLO")
	}
	if err := json.Unmarshal(args, &h); err != nil {
		return h, refuse("HELLO: %s: give a JSON object such as {\"v\":2}", explain(err))
	}
	return h, h.check()
}

func (h *hello) check() error {
	printable := func(s string) bool {
		return !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || r == unicode.ReplacementChar })
	}
	switch {
	case len(h.Worker) > mostWorkerID || !printable(h.Worker):
		return refuse("HELLO: the wid has to have at most %d bytes, and no control characters", mostWorkerID)
	case len(h.Host) > mostHost || !printable(h.Host):
		return refuse("HELLO: the hostname has to have at most %d bytes, and no control characters", mostHost)
	case len(h.Labels) > mostLabels:
		return refuse("HELLO: %d labels: give at most %d", len(h.Labels), mostLabels)
	}
	for _, label := range h.Labels {
		if len(label) > mostLabel || !printable(label) {
			return refuse("HELLO: a label has to have at most %d bytes, and no control characters", mostLabel)
		}
	}
	return nil
}

// rightHash compares the hash of a password in constant time.
func rightHash(got, password, salt string) bool {
	sum := sha256.Sum256([]byte(password + salt))
	for range rounds - 1 {
		sum = sha256.Sum256(sum[:])
	}
	want := hex.EncodeToString(sum[:])
	return subtle.ConstantTimeCompare([]byte(strings.ToLower(got)), []byte(want)) == 1
}

// guesses delay the answers to wrong passwords: those to one address come a second apart. Correct passwords are never delayed.
type guesses struct {
	mu   sync.Mutex
	next map[netip.Prefix]time.Time
}

const (
	eachGuess   = time.Second
	mostGuess   = 30 * time.Second // the longest delay of an answer
	mostGuesses = 4096             // addresses that are remembered
)

func (g *guesses) wrong(ctx context.Context, address string) {
	_ = meanwhile.Sleep(ctx, g.delay(clientOf(address), time.Now()))
}

func (g *guesses) delay(from netip.Prefix, now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.next == nil {
		g.next = map[netip.Prefix]time.Time{}
	}
	if len(g.next) >= mostGuesses {
		for key, next := range g.next {
			if !next.After(now) {
				delete(g.next, key)
			}
		}
		if len(g.next) >= mostGuesses {
			return mostGuess
		}
	}
	next := g.next[from]
	if next.Before(now) {
		next = now
	}
	next = next.Add(eachGuess)
	if most := now.Add(mostGuess); next.After(most) {
		next = most
	}
	g.next[from] = next
	return next.Sub(now)
}

// clientOf returns the address that identifies a client; with IPv6, its network of 64 bits.
func clientOf(address string) netip.Prefix {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return netip.Prefix{}
	}
	ip := a.Addr().Unmap()
	bits := 32
	if ip.Is6() {
		bits = 64
	}
	p, _ := ip.WithZone("").Prefix(bits)
	return p
}
