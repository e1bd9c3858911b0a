// Package murmur mixes the bits of hashes.
package murmur

// Mix returns a hash each of whose bits depends on all bits of h. It is by Appleby, from MurmurHash3.
func Mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
