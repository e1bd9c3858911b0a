package access

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// A Token authenticates a program.
type Token struct {
	Name string
	Role Role
	Hash [sha256.Size]byte // of the token
}

// NewToken creates a token of 256 random bits, and returns its hash in the form that [Token.UnmarshalText] reads.
func NewToken() (token, hash string) {
	var bits [32]byte
	_, _ = rand.Read(bits[:]) // never fails
	token = "mw_" + base64.RawURLEncoding.EncodeToString(bits[:])
	sum := sha256.Sum256([]byte(token))
	return token, hex.EncodeToString(sum[:])
}

// UnmarshalText reads a token, written as NAME:ROLE:HASH with the SHA-256 of the token in hexadecimal digits.
func (t *Token) UnmarshalText(text []byte) error {
	parts := strings.SplitN(string(text), ":", 3)
	if len(parts) != 3 {
		return errors.New("a token is written as NAME:ROLE:HASH")
	}
	if err := checkName(parts[0]); err != nil {
		return fmt.Errorf("token %.40q: %w", parts[0], err)
	}
	if err := t.Role.UnmarshalText([]byte(parts[1])); err != nil {
		return fmt.Errorf("token %.40q: %w", parts[0], err)
	}
	sum, err := hex.DecodeString(parts[2])
	if err != nil || len(sum) != sha256.Size {
		return fmt.Errorf("token %q: what stands for the hash is no SHA-256 of 64 hexadecimal digits: make one with: meanwhile serve new-token", parts[0])
	}
	t.Name, t.Hash = parts[0], [sha256.Size]byte(sum)
	return nil
}

// tokens are all tokens.
type tokens []Token

// find returns the token with this text. It compares all of them, each in the same time.
func (all tokens) find(text string) (found Token, ok bool) {
	sum := sha256.Sum256([]byte(text))
	for i := range all {
		if subtle.ConstantTimeCompare(sum[:], all[i].Hash[:]) == 1 {
			found, ok = all[i], true
		}
	}
	return found, ok
}

const mostBearer = 512 // bytes

var errAuthorization = errors.New("the header Authorization is not of the form: Bearer TOKEN")

// bearer returns the token that a request has in its Authorization header, or "".
func bearer(r *http.Request) (string, error) {
	given := r.Header.Values("Authorization")
	switch {
	case len(given) == 0:
		return "", nil
	case len(given) > 1:
		return "", errAuthorization
	}
	scheme, token, ok := strings.Cut(given[0], " ")
	token = strings.Trim(token, " ")
	if !ok || !strings.EqualFold(scheme, "bearer") || token == "" || len(token) > mostBearer || strings.ContainsAny(token, " \t,") {
		return "", errAuthorization
	}
	return token, nil
}

// lastOf returns the last element of a list in a header, or "".
func lastOf(values []string) string {
	if len(values) == 0 {
		return ""
	}
	last := values[len(values)-1]
	return strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])
}
