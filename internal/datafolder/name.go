package datafolder

import (
	"crypto/sha256"
	"encoding/hex"
)

// ShortName returns a name, escaped as one element of a path, with at most so many bytes: as it is, or its beginning, a ~ and a hash of the
// original. An escaped name must have no ~ of its own, so that no two originals share one.
func ShortName(escaped, original string, most int) string {
	if len(escaped) <= most {
		return escaped
	}
	sum := sha256.Sum256([]byte(original))
	hash := "~" + hex.EncodeToString(sum[:16])
	return escaped[:most-len(hash)] + hash
}
