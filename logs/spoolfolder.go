package logs

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// folderName returns the name of a folder for a service: the escaped name of the service, or a hash if that is long or begins with a dot.
func folderName(service string) string {
	name := url.QueryEscape(service)
	if len(name) > 100 || strings.HasPrefix(name, ".") {
		sum := sha256.Sum256([]byte(service))
		name = "_" + hex.EncodeToString(sum[:16])
	}
	return name
}

// removeFolder removes the empty spool of one identity, the lock last.
func removeFolder(dir string) {
	_ = os.Remove(filepath.Join(dir, dropFile))
	_ = os.Remove(filepath.Join(dir, "lock"))
	_ = os.Remove(dir)
}
