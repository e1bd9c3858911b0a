// Package murmur mixes the bits of hashes.
package murmur

// Mix returns a hash in which each bit depends on all bits of h. It is fmix64 of MurmurHash3, by Austin Appleby.
func Mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
