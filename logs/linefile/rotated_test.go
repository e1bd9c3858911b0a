package linefile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/internal/testenv"
)

func TestRotatedFilesArePruned(t *testing.T) {
	now := time.Now()
	tests := map[string]struct {
		file  Config
		wrong bool  // whether the clock is wrong
		left  []int // which files are left, of those that are 1 to 5 days old
	}{
		"no bound":         {left: []int{1, 2, 3, 4, 5}},
		"age":              {file: Config{MaxAge: 60 * time.Hour}, left: []int{1, 2}},
		"age, wrong clock": {file: Config{MaxAge: 60 * time.Hour}, wrong: true, left: []int{1, 2, 3, 4, 5}},
		"total":            {file: Config{MaxTotal: 450}, left: []int{1, 2, 3}}, // 100 bytes are in the file that is written
		"total of little":  {file: Config{MaxTotal: 1}},
		"both":             {file: Config{MaxAge: 36 * time.Hour, MaxTotal: 450}, left: []int{1}},
		"compressed":       {file: Config{MaxAge: 60 * time.Hour, Compress: true}, left: []int{1, 2}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "api.log")
			keep := []string{"api.log", "api-notes.log", "other-20260504T030201.000000.log"} // which are not rotated files of api.log
			for _, name := range keep {
				if err := os.WriteFile(filepath.Join(dir, name), make([]byte, 100), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var want []string
			for day := 1; day <= 5; day++ {
				at := now.Add(-time.Duration(day) * 24 * time.Hour)
				name := fmt.Sprintf("api%s.log", at.UTC().Format("-20060102T150405.000000"))
				if err := os.WriteFile(filepath.Join(dir, name), make([]byte, 100), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Chtimes(filepath.Join(dir, name), at, at); err != nil {
					t.Fatal(err)
				}
				if test.file.Compress {
					name += zstdExtension
				}
				if slices.Contains(test.left, day) {
					want = append(want, name)
				}
			}
			if err := test.file.tidy(t.Context(), path, now, !test.wrong); err != nil {
				t.Error(err)
			}
			entries, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range entries {
				got = append(got, e.Name())
			}
			want = append(want, keep...)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("left are %q, want %q", got, want)
			}
		})
	}
}

// Files that were rotated while the clock was wrong are, once it is right, as old as the time since then, whatever their modification
// times are.
func TestTurnedByAWrongClock(t *testing.T) {
	for _, compress := range []bool{false, true} {
		dir := t.TempDir()
		path := filepath.Join(dir, "api.log")
		right := false
		var conf atomic.Pointer[Config]
		conf.Store(&Config{MaxAge: time.Hour, Compress: compress})
		old := &tidier{conf: &conf, path: path, trusted: func() bool { return right }}
		long := time.Now().AddDate(-6, 0, 0)
		for _, name := range []string{"api-20200504T030201.000000.log", "api-20200504T030202.000000.log"} {
			name = filepath.Join(dir, name)
			if err := os.WriteFile(name, make([]byte, 100), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(name, long, long); err != nil {
				t.Fatal(err)
			}
			if !old.rotated(name) {
				t.Fatal("somebody else does it")
			}
			if err := old.run(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if err := os.Remove(filepath.Join(dir, testenv.FileNames(t, dir)[0])); err != nil { // by somebody else
			t.Fatal(err)
		}
		for _, right = range []bool{false, true, true} {
			if err := old.run(t.Context()); err != nil {
				t.Error(err)
			}
			if left := testenv.FileNames(t, dir); len(left) != 1 {
				t.Errorf("compressed %t, by a clock that is right %t: left are %q", compress, right, left)
			}
			if got := len(old.unsureAges); right != (got == 0) || got > 1 {
				t.Errorf("by a clock that is right %t, %d are not sure", right, got)
			}
		}
		if err := os.Chtimes(filepath.Join(dir, testenv.FileNames(t, dir)[0]), long, long); err != nil {
			t.Fatal(err)
		}
		if err := old.run(t.Context()); err != nil {
			t.Error(err)
		}
		if left := testenv.FileNames(t, dir); len(left) != 0 {
			t.Errorf("left are %q", left)
		}
	}
}

// When a file that was deleted is to be rotated, the next one is begun, also if its folder is gone.
func TestDeletedFileIsFollowed(t *testing.T) {
	for what, remove := range map[string]func(path string) error{
		"file":   os.Remove,
		"folder": func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
	} {
		f := newTestFile(t)
		f.path, f.conf.MaxBytes, f.conf.MaxAge = filepath.Join(f.dir, "lines", "a.log"), 20, time.Hour
		f.begin()
		f.write("line one\nline two\n", Received{testClient, 2})
		if err := remove(f.path); err != nil {
			t.Fatal(err)
		}
		f.write("line three\n", Received{testClient, 3})
		f.write("line 4\n", Received{testClient, 4})
		f.want(what, "line three\nline 4\n")
		if names := testenv.FileNames(t, filepath.Dir(f.path)); len(names) != 1 || strings.Contains(f.said.String(), "ERROR") {
			t.Errorf("%s: files are %q, said: %s", what, names, f.said.String())
		}
		f.die()
	}
}

// An output ends although a file is being compressed that takes long. The file stays, for the next time.
func TestCompressionEndsWithTheOutput(t *testing.T) {
	f := newTestFile(t)
	f.conf.MaxBytes, f.conf.Compress = 1, true
	f.begin()
	large := filepath.Join(f.dir, "a-20200504T030201.000000.log")
	if err := errors.Join(os.WriteFile(large, nil, 0o600), os.Truncate(large, 1<<40)); err != nil { // without taking that space
		t.Fatal(err)
	}
	o := NewOutput("test", f.target, new(Memory), f.target.logger)
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		o.Start(ctx)
		if _, err := o.Append(ctx, []byte("line one\nline two\n"), false, Received{}); err != nil {
			return err
		}
		testenv.Await(t, func() bool { return exists(large + zstdExtension + ".part") })
		o.Close(ctx)
		return nil
	})
	if err != nil || f.said.Len() > 0 {
		t.Errorf("got %v, said: %s", err, f.said.String())
	}
	olds, err := rotatedFiles(f.path)
	if err != nil || len(olds) != 2 || olds[0] != large || exists(large+zstdExtension+".part") {
		t.Errorf("left are %q, %v", testenv.FileNames(t, f.dir), err)
	}
	f.die()
}
