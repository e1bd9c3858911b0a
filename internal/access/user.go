package access

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/crypto/bcrypt"
)

// A User may sign in with a password.
type User struct {
	Name string
	Role Role
	Hash string // of the password, by bcrypt: see [HashPassword]
}

const (
	hashCost     = 12 // about 250 ms
	leastCost    = 10
	mostCost     = 15 // a higher cost keeps people waiting, and a processor busy
	mostPassword = 72 // bytes: bcrypt ignores the rest
	mostName     = 64
)

// HashPassword returns the bcrypt hash of a password.
func HashPassword(password []byte) (string, error) {
	switch {
	case len(password) == 0:
		return "", errors.New("the password is empty")
	case len(password) > mostPassword:
		return "", fmt.Errorf("the password has %d bytes; bcrypt takes at most %d", len(password), mostPassword)
	}
	hash, err := bcrypt.GenerateFromPassword(password, hashCost)
	return string(hash), err
}

// UnmarshalText reads a user, written as NAME:ROLE:HASH.
func (u *User) UnmarshalText(text []byte) error {
	parts := strings.SplitN(string(text), ":", 3)
	if len(parts) != 3 {
		return errors.New("a user is written as NAME:ROLE:HASH")
	}
	if err := u.Role.UnmarshalText([]byte(parts[1])); err != nil {
		return fmt.Errorf("user %.40q: %w", parts[0], err)
	}
	if u.Role == Worker {
		return fmt.Errorf("user %.40q: the role %s is for tokens of programs: give %s or %s", parts[0], Worker, Admin, Viewer)
	}
	u.Name, u.Hash = parts[0], parts[2]
	_, err := u.cost()
	return err
}

// cost returns the cost of the hash. Its errors do not show the hash, since it may be a password that was put there by mistake.
func (u *User) cost() (int, error) {
	if err := checkName(u.Name); err != nil {
		return 0, fmt.Errorf("user %.40q: %w", u.Name, err)
	}
	cost, err := bcrypt.Cost([]byte(u.Hash))
	if err != nil || len(u.Hash) != 60 {
		return 0, fmt.Errorf("user %q: what stands for the hash is not a bcrypt hash: make one with: meanwhile serve hash-password", u.Name)
	}
	if cost < leastCost || cost > mostCost {
		return 0, fmt.Errorf("user %q: the bcrypt hash has a cost of %d: give one from %d to %d", u.Name, cost, leastCost, mostCost)
	}
	return cost, nil
}

func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("the name is empty")
	case len(name) > mostName:
		return fmt.Errorf("the name has %d bytes, at most %d are allowed", len(name), mostName)
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == unicode.ReplacementChar }):
		return errors.New("the name has a space or a control character in it")
	}
	return nil
}

// users are all users, and what is needed for each password check to take the same time.
type users struct {
	byName  map[string]User
	cost    int // the highest of all
	busy    chan struct{}
	compare func(hash, password []byte) error
}

const mostCompared = 2 // passwords at once: each keeps a processor busy

func newUsers(all []User) (*users, error) {
	known := &users{
		byName: map[string]User{}, cost: leastCost, busy: make(chan struct{}, mostCompared), compare: bcrypt.CompareHashAndPassword,
	}
	for _, u := range all {
		cost, err := u.cost()
		if err != nil {
			return nil, err
		}
		known.byName[u.Name] = u
		known.cost = max(known.cost, cost)
	}
	return known, nil
}

// noHash is the rest of a hash that no password has.
const noHash = "$ABCDEFGHIJKLMNOPQRSTU.0123456789012345678901234567890"

// check reports whether a password is that of a user. It takes as long for an unknown name, and for each cost: the time for a cost is twice that for
// the one below, so one comparison for each missing cost makes the sums equal.
func (u *users) check(name, password string) (User, bool) {
	user, known := u.byName[name]
	cost, hash := leastCost, fmt.Sprintf("$2a$%d%s", leastCost, noHash)
	if known {
		cost, _ = user.cost()
		hash = user.Hash
	}
	if len(password) > mostPassword {
		known, password = false, ""
	}
	matches := u.compare([]byte(hash), []byte(password)) == nil
	for ; cost < u.cost; cost++ {
		_ = u.compare(fmt.Appendf(nil, "$2a$%d%s", cost, noHash), []byte(password))
	}
	return user, matches && known
}
