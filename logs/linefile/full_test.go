//go:build linux || darwin

package linefile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
)

// TestRole is not a test: it is run by processes that tests start and kill.
func TestRole(t *testing.T) {
	role := testenv.RoleArgs()
	if len(role) == 0 {
		t.Skip("a part of other tests")
	}
	fullRole(t, role[0], role[1:])
	os.Exit(0)
}

// fullRole writes a line to a file while the system limits the size of files, to one size after the other; then it is killed.
func fullRole(t testing.TB, dir string, spaces []string) {
	f := &testFile{t: t, dir: dir, path: filepath.Join(dir, "a.log"), policy: SyncOS}
	f.begin()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		panic(err)
	}
	rest := []byte("line one\n")
	for _, room := range spaces {
		if _, err := fmt.Sscan(room, &limit.Cur); err != nil {
			panic(err)
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
			panic(err)
		}
		n, err := f.target.write(t.Context(), rest, []Received{{testClient, 1}})
		fmt.Println("wrote", n, err != nil)
		rest = rest[n:]
	}
}

// A full disk neither tears nor loses a line, whether it is full before the end of a line that another process has left torn, or within
// the next one, also if the process is killed before there is space again.
func TestFullDisk(t *testing.T) {
	before := strings.Repeat("before\n", 150) + "torn" // more than the journal has
	size := len(before)
	for _, test := range []struct {
		spaces []int
		wrote  []string
	}{
		{[]int{size, size, size + 1, size + 10}, []string{"0 true", "0 true", "0 true", "9 false"}},
		{[]int{size + 3, size + 10}, []string{"2 true", "7 false"}},
		{[]int{size, size + 5}, []string{"0 true", "4 true"}},
	} {
		f := newTestFile(t)
		if err := os.WriteFile(f.path, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		role := []string{f.dir}
		for _, space := range test.spaces {
			role = append(role, fmt.Sprint(space))
		}
		full := testenv.StartRole(t, role...)
		for i, want := range test.wrote {
			if got := full.Wait(t, "wrote"); got != want {
				t.Errorf("room for %d: wrote %s, want %s", test.spaces[i], got, want)
			}
		}
		full.Kill()
		f.begin()
		f.want(fmt.Sprint(test.spaces), before+"\nline one\n")
		f.wantLast("afterwards", 1)
		f.die()
	}
}
