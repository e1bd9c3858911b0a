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
	if err == nil && c.server.config.Password != "" {
		err = c.checkPassword(ctx, h.Hash, salt)
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

// checkPassword returns an error unless the hash is that of the right password. The answer to a wrong one is delayed, but a guesser need not wait for
// it. So an address that has given many wrong passwords and no right one is refused before its password is compared.
func (c *conn) checkPassword(ctx context.Context, hash, salt string) error {
	address := c.socket.RemoteAddr().String()
	from, guesses := clientOf(address), &c.server.guesses
	warn := func(text string) {
		c.server.passwords.Warn(c.server.config.Logger, "faktory: "+text, "address", address)
	}
	if wait := guesses.refused(from, time.Now()); wait > 0 {
		warn("a client was refused, since its address has given many wrong passwords")
		return refuse("Too many wrong passwords from this address: try again in %v", wait.Round(time.Second))
	}
	if rightHash(hash, c.server.config.Password, salt) {
		guesses.right(from, time.Now())
		return nil
	}
	warn("a client has a wrong password")
	guesses.wrong(ctx, from)
	return refuse("Invalid password")
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

// guesses limit how often an address can try passwords: after 30 wrong ones, one a second is compared. An address that has given the right password
// within the last hour is not refused, since other clients may have the same address; only the answers to its wrong ones are delayed.
type guesses struct {
	mu      sync.Mutex
	from    map[netip.Prefix]guesser
	delayed int // answers
}

type guesser struct {
	next  time.Time // when the answer to the last wrong password is due: they come a second apart
	right time.Time // when it last gave the right password
}

const (
	eachGuess   = time.Second
	mostGuess   = 30 * time.Second // the longest delay of an answer
	trusted     = time.Hour        // how long a right password counts
	mostDelayed = 256              // answers that are delayed at the same time: each keeps a connection open
	mostGuesses = 4096             // addresses that are remembered
)

// refused returns for how long no password of an address is compared.
func (g *guesses) refused(from netip.Prefix, now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	one := g.from[from]
	if now.Sub(one.right) < trusted {
		return 0
	}
	return max(0, one.next.Sub(now.Add(mostGuess-eachGuess)))
}

func (g *guesses) right(from netip.Prefix, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	one := g.from[from]
	one.right = now
	g.remember(from, one, now)
}

// wrong returns when the answer to a wrong password is due, or when ctx is done.
func (g *guesses) wrong(ctx context.Context, from netip.Prefix) {
	delay := g.delay(from, time.Now())
	if delay == 0 {
		return
	}
	_ = meanwhile.Sleep(ctx, delay)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.delayed--
}

// delay records a wrong password, and returns how long to delay its answer.
func (g *guesses) delay(from netip.Prefix, now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	one, delay := g.from[from], mostGuess
	if one.next.Before(now) {
		one.next = now
	}
	if one.next = one.next.Add(eachGuess); one.next.After(now.Add(mostGuess)) {
		one.next = now.Add(mostGuess)
	}
	if g.remember(from, one, now) {
		delay = one.next.Sub(now)
	}
	if g.delayed == mostDelayed {
		return 0
	}
	g.delayed++
	return delay
}

// remember stores what is known of an address. If there are too many, it forgets those that have given no wrong password lately, and if that is not
// enough, it returns false. The mutex is held.
func (g *guesses) remember(from netip.Prefix, one guesser, now time.Time) bool {
	if g.from == nil {
		g.from = map[netip.Prefix]guesser{}
	}
	if _, known := g.from[from]; !known && len(g.from) >= mostGuesses {
		for key, other := range g.from {
			if !other.next.After(now) {
				delete(g.from, key)
			}
		}
		if len(g.from) >= mostGuesses {
			return false
		}
	}
	g.from[from] = one
	return true
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
