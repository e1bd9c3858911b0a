package fetch

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"regexp"
	"strings"
)

const (
	maxFileName = 200 // bytes, which leaves space for the suffix of a partial file
	hashLength  = 16  // hex digits
)

var (
	plainName    = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9-])?$`)
	notInNames   = regexp.MustCompile(`[^A-Za-z0-9._-]`)
	reservedName = regexp.MustCompile(`(?i)^(con|prn|aux|nul|conin\$|conout\$|com[0-9]|lpt[0-9])(\.|$)`)
	looksHashed  = regexp.MustCompile(`-[0-9a-f]{16}(\.|$)`)
	extension    = regexp.MustCompile(`\.[A-Za-z0-9]{1,10}$`)
)

// fileName derives a file's name from a URL: host and path, as in example.com_docs_index.html for
// https://example.com/docs/index.html.
//
// The name has only letters, digits, ".", "_" and "-", does not begin or end with a dot, is not a device name of Windows, and has
// at most 200 bytes. If it does not represent all of the URL (a query, another scheme than https, a port, characters that were
// replaced, capitals, which some file systems do not distinguish, a shortened name), a hash of the URL is added before the
// extension, so that two URLs never have the same name.
func fileName(u *url.URL) string {
	path := strings.TrimPrefix(u.EscapedPath(), "/")
	parts := append([]string{u.Host}, strings.Split(path, "/")...)
	if path == "" {
		parts = parts[:1]
	}
	plain := u.Scheme == "https" && u.RawQuery == "" && !u.ForceQuery && len(path) < maxFileName
	for _, part := range parts {
		plain = plain && plainName.MatchString(part)
	}
	name := strings.Join(parts, "_")
	if plain && len(name) <= maxFileName && !reservedName.MatchString(name) && !looksHashed.MatchString(name) {
		return name
	}
	return hashedName(name, u)
}

func hashedName(name string, u *url.URL) string {
	name = strings.Trim(notInNames.ReplaceAllString(name, "_"), ".")
	if reservedName.MatchString(name) || name == "" || strings.HasPrefix(name, "-") {
		name = "_" + name
	}
	end := extension.FindString(name)
	name = strings.TrimSuffix(name, end)
	if most := maxFileName - hashLength - 1 - len(end); len(name) > most {
		name = name[:most]
	}
	bare := *u
	bare.User = nil
	sum := sha256.Sum256([]byte(bare.String()))
	return name + "-" + hex.EncodeToString(sum[:])[:hashLength] + end
}
