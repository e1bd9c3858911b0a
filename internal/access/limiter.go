package access

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// A bound limits how many attempts may fail: a burst, and then one per interval.
type bound struct {
	burst float64
	each  time.Duration
}

var (
	ofName   = bound{10, 30 * time.Second} // passwords for one name from one address
	ofClient = bound{30, 10 * time.Second} // passwords for all names from one address
	ofAll    = bound{100, time.Second}     // passwords from anywhere, since each keeps a processor busy
	ofToken  = bound{10, 30 * time.Second} // wrong tokens from one address that are answered and logged one by one
)

const mostKept = 4096 // buckets that are remembered: of addresses, and of names from addresses

// A limiter bounds how many passwords are tried, so that neither one client nor many can guess for long, or keep the processors busy with hashes. A
// name counts per address, so failures for one name lock out neither other users at the address nor the same user elsewhere. Wrong tokens are counted
// separately from passwords; right ones do not count.
type limiter struct {
	mu      sync.Mutex
	all     bucket
	names   map[nameFrom]*bucket
	clients map[netip.Prefix]*bucket
	tokens  map[netip.Prefix]*bucket
}

// A nameFrom is a name of a sign-in, whether there is such a user or not, and the address.
type nameFrom struct {
	client netip.Prefix
	name   string // at most mostName bytes of it
}

// A bucket is what is left of a burst. The zero bucket is full.
type bucket struct {
	used float64
	at   time.Time
}

// wait refills the bucket up to now, and returns how long it takes until it has an attempt.
func (b *bucket) wait(now time.Time, of bound) time.Duration {
	b.used = max(b.used-float64(now.Sub(b.at))/float64(of.each), 0)
	b.at = now
	return max(time.Duration((b.used+1-of.burst)*float64(of.each)), 0)
}

// attempt takes an attempt at the password of a name. If there is none left, it takes none, and returns how long it takes until there is one.
func (l *limiter) attempt(client netip.Prefix, name string, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	byName, byClient := l.buckets(client, name, now)
	if wait := max(byName.wait(now, ofName), byClient.wait(now, ofClient), l.all.wait(now, ofAll)); wait > 0 {
		return wait
	}
	byName.used++
	byClient.used++
	l.all.used++
	return 0
}

// giveBack returns an attempt that did not fail, or was not made.
func (l *limiter) giveBack(client netip.Prefix, name string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	byName, byClient := l.buckets(client, name, now)
	for _, b := range []*bucket{byName, byClient, &l.all} {
		b.used = max(b.used-1, 0)
	}
}

// wrongToken counts a wrong token. It returns 0 if it should be answered, or else how long it takes until one of the address will be.
func (l *limiter) wrongToken(client netip.Prefix, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := bucketOf(&l.tokens, client, now, ofToken)
	if wait := one.wait(now, ofToken); wait > 0 {
		return wait
	}
	one.used++
	return 0
}

// buckets returns the bucket of a name from an address, and that of the address.
func (l *limiter) buckets(client netip.Prefix, name string, now time.Time) (byName, byClient *bucket) {
	name = name[:min(len(name), mostName)]
	return bucketOf(&l.names, nameFrom{client, name}, now, ofName), bucketOf(&l.clients, client, now, ofClient)
}

// bucketOf returns the bucket of a key. If there are too many, it forgets some with the fewest failures; the bound for all attempts together still
// holds.
func bucketOf[K comparable](all *map[K]*bucket, key K, now time.Time, of bound) *bucket {
	if one, ok := (*all)[key]; ok {
		return one
	}
	if *all == nil {
		*all = map[K]*bucket{}
	}
	if len(*all) >= mostKept {
		forget(*all, now, of)
	}
	one := &bucket{at: now}
	(*all)[key] = one
	return one
}

// forget removes the buckets that are full, and of the others those with the fewest failures until an eighth of the places is free: so that a scan of all
// is for many new keys, however the failures are distributed.
func forget[K comparable](all map[K]*bucket, now time.Time, of bound) {
	for key, one := range all {
		if one.wait(now, of); one.used == 0 {
			delete(all, key)
		}
	}
	byUse := slices.SortedFunc(maps.Keys(all), func(a, b K) int { return cmp.Compare(all[a].used, all[b].used) })
	for _, key := range byUse[:max(0, len(all)-(mostKept-mostKept/8))] {
		delete(all, key)
	}
}
