package access

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/crypto/bcrypt"
)

func TestHashPassword(t *testing.T) {
	text, err := HashPassword([]byte(password))
	if err != nil || bcrypt.CompareHashAndPassword([]byte(text), []byte(password)) != nil {
		t.Errorf("%s, %v is not a hash of the password", text, err)
	}
	for secret, want := range map[string]string{"": "the password is empty", strings.Repeat("x", 73): "the password has 73 bytes; bcrypt takes at most 72"} {
		if _, err := HashPassword([]byte(secret)); err == nil || err.Error() != want {
			t.Errorf("%d bytes: got %v, want %s", len(secret), err, want)
		}
	}
}

func TestUserText(t *testing.T) {
	var u User
	if err := u.UnmarshalText([]byte("ada:viewer:" + hash())); err != nil || u != (User{"ada", Viewer, hash()}) {
		t.Errorf("got %+v, %v", u, err)
	}
	const secret = "my-plain-password"
	for text, want := range map[string]string{
		"ada":                                        "a user is written as NAME:ROLE:HASH",
		"ada:" + secret:                              "a user is written as NAME:ROLE:HASH",
		"ada:owner:" + hash():                        `user "ada": "owner" is not a role: give admin or viewer`,
		":admin:" + hash():                           `user "": the name is empty`,
		"a b:admin:" + hash():                        `user "a b": the name has a space or a control character in it`,
		"ada:admin:" + secret:                        `user "ada": what stands for the hash is not a bcrypt hash: make one with: meanwhile serve hash-password`,
		"ada:admin:" + hash() + "x":                  "is not a bcrypt hash",
		"ada:admin:$2a$04" + noHash:                  "has a cost of 4: give one from 10 to 15",
		"ada:admin:$2a$31" + noHash:                  "has a cost of 31",
		strings.Repeat("x", 65) + ":admin:" + hash(): "the name has 65 bytes, at most 64 are allowed",
	} {
		if err := u.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// TestSameTime adds up the cost of the comparisons: an unknown name takes as long as any other, whatever the costs of the hashes are.
func TestSameTime(t *testing.T) {
	all, err := newUsers([]User{{"low", Admin, "$2a$10" + noHash}, {"high", Admin, "$2a$13" + noHash}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"low", "high", "nobody", ""} {
		for _, secret := range []string{"x", strings.Repeat("x", 100)} {
			work := 0
			all.compare = func(hash, password []byte) error {
				cost, err := bcrypt.Cost(hash)
				if err != nil || len(password) > 72 {
					t.Errorf("%s: compare %d bytes with %s: %v", name, len(password), hash, err)
				}
				work += 1 << cost
				return errors.New("wrong")
			}
			if _, ok := all.check(name, secret); ok || work != 1<<13 {
				t.Errorf("%q: %t, after %d rounds; want %d", name, ok, work, 1<<13)
			}
		}
	}
	if !bytes.HasPrefix(fmt.Appendf(nil, "$2a$%d%s", leastCost, noHash), []byte("$2a$10$")) || bcrypt.CompareHashAndPassword([]byte("$2a$10"+noHash), nil) != bcrypt.ErrMismatchedHashAndPassword {
		t.Error("noHash is not the rest of a hash")
	}
}
