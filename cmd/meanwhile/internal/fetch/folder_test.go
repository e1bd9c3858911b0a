package fetch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/meanwhile-go/meanwhile"
)

// TestFolderSameName saves many bodies to one name concurrently: one of them is the result, complete.
func TestFolderSameName(t *testing.T) {
	dir := t.TempDir()
	f, err := openFolder(filepath.Join(dir, "new"), false)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	u, _ := parseURL("https://example.com/a")
	var saved atomic.Int64
	bodies := meanwhile.From(slices.Values(strings.Split("abcdefghijklmnop", "")))
	err = meanwhile.Each(t.Context(), bodies, func(_ context.Context, body string) error {
		_, _, err := f.save(u, strings.NewReader(strings.Repeat(body, 1000)))
		if err == nil {
			saved.Add(1)
			return nil
		}
		if _, ok := errors.AsType[*finalError](err); !ok || !strings.Contains(err.Error(), "exists") {
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Join(dir, "new"))
	if err != nil {
		t.Fatal(err)
	}
	if saved.Load() != 1 || len(entries) != 1 || entries[0].Name() != "example.com_a" {
		t.Errorf("%d saved, the folder has %v", saved.Load(), entries)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "new", "example.com_a")); err != nil || len(got) != 1000 {
		t.Errorf("file of %d bytes, %v", len(got), err)
	}
}

func TestFolderUnwritable(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root can write everywhere")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	if f, err := openFolder(dir, false); err == nil || !strings.Contains(err.Error(), "write to folder "+dir) {
		t.Errorf("got %v, %v", f, err)
	}
}

// TestFolderLink saves through a symbolic link that leads out of the folder: no file is written there.
func TestFolderLink(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "victim")
	if err := os.Symlink(outside, filepath.Join(dir, "example.com_a")); err != nil {
		t.Skip(err)
	}
	u, _ := parseURL("https://example.com/a")
	for _, overwrite := range []bool{false, true} {
		f, err := openFolder(dir, overwrite)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := f.save(u, strings.NewReader("x")); (err == nil) != overwrite {
			t.Errorf("overwrite %v: %v", overwrite, err)
		}
		f.close()
		if _, err := os.Lstat(outside); err == nil {
			t.Errorf("overwrite %v: written outside the folder", overwrite)
		}
	}
}
