package access

import (
	"net/netip"
	"sync"
	"time"
)

// How many attempts may fail: so many at once, and then one each time so long.
const (
	burstOfOne  = 10
	eachOfOne   = 30 * time.Second
	burstOfAll  = 100
	eachOfAll   = time.Second
	mostClients = 4096 // that are remembered
)

// A limiter bounds the attempts of each client and those of all of them, so that neither one nor many can guess for long, or keep
// the processors busy with hashes. When it remembers as many clients as it may, it forgets the one with the fewest
// failures; what bounds all of them holds still.
type limiter struct {
	mu      sync.Mutex
	all     bucket
	clients map[netip.Prefix]*bucket
}

// A bucket holds what is left of a burst. The zero bucket is full.
type bucket struct {
	used float64
	at   time.Time
}

// wait fills the bucket up to now, and returns how long it takes until there is an attempt in it.
func (b *bucket) wait(now time.Time, burst float64, each time.Duration) time.Duration {
	b.used = max(b.used-float64(now.Sub(b.at))/float64(each), 0)
	b.at = now
	return max(time.Duration((b.used+1-burst)*float64(each)), 0)
}

// take takes an attempt of a client, one at a password: it counts against all. When there is none it takes none, and
// returns how long it takes until there is one.
func (l *limiter) take(client netip.Prefix, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.client(client, now)
	if wait := max(one.wait(now, burstOfOne, eachOfOne), l.all.wait(now, burstOfAll, eachOfAll)); wait > 0 {
		return wait
	}
	one.used++
	l.all.used++
	return 0
}

// giveBack returns an attempt that did not fail.
func (l *limiter) giveBack(client netip.Prefix, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.client(client, now)
	one.used = max(one.used-1, 0)
	l.all.used = max(l.all.used-1, 0)
}

// blocked returns how long it takes until a client has an attempt.
func (l *limiter) blocked(client netip.Prefix, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if one, ok := l.clients[client]; ok {
		return one.wait(now, burstOfOne, eachOfOne)
	}
	return 0
}

// charge takes an attempt of a client after it has failed, one with a token: whoever has none cannot keep others from
// signing in by it.
func (l *limiter) charge(client netip.Prefix, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.client(client, now)
	one.wait(now, burstOfOne, eachOfOne)
	one.used = min(one.used+1, burstOfOne)
}

// client returns the bucket of a client.
func (l *limiter) client(client netip.Prefix, now time.Time) *bucket {
	if one, ok := l.clients[client]; ok {
		return one
	}
	if l.clients == nil {
		l.clients = map[netip.Prefix]*bucket{}
	}
	if len(l.clients) >= mostClients {
		l.forget(now)
	}
	one := &bucket{at: now}
	l.clients[client] = one
	return one
}

// forget forgets the clients whose buckets are full, or the fullest one.
func (l *limiter) forget(now time.Time) {
	var fullest netip.Prefix
	least := float64(burstOfOne + 1)
	for client, one := range l.clients {
		one.wait(now, burstOfOne, eachOfOne)
		if one.used == 0 {
			delete(l.clients, client)
		} else if one.used < least {
			fullest, least = client, one.used
		}
	}
	if len(l.clients) >= mostClients {
		delete(l.clients, fullest)
	}
}
