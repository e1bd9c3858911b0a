package logs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func TestTurnedFilesArePruned(t *testing.T) {
	now := time.Now()
	tests := map[string]struct {
		file  LineFile
		wrong bool  // the clock is
		left  []int // of those that are 1 to 5 days old
	}{
		"no bound":         {left: []int{1, 2, 3, 4, 5}},
		"age":              {file: LineFile{MaxAge: 60 * time.Hour}, left: []int{1, 2}},
		"age, wrong clock": {file: LineFile{MaxAge: 60 * time.Hour}, wrong: true, left: []int{1, 2, 3, 4, 5}},
		"total":            {file: LineFile{MaxTotal: 450}, left: []int{1, 2, 3}}, // 100 bytes are in the file that is written
		"total of little":  {file: LineFile{MaxTotal: 1}},
		"both":             {file: LineFile{MaxAge: 36 * time.Hour, MaxTotal: 450}, left: []int{1}},
		"compressed":       {file: LineFile{MaxAge: 60 * time.Hour, Compress: true}, left: []int{1, 2}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "api.log")
			keep := []string{"api.log", "api-notes.log", "other-20260504T030201.000000.log"} // which are none of ours
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
			if err := test.file.tidy(path, now, !test.wrong); err != nil {
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
