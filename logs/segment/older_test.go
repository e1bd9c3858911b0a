package segment

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/meanwhile-go/meanwhile"
	"github.com/meanwhile-go/meanwhile/logs/filter"
	"github.com/meanwhile-go/meanwhile/logs/storage"
)

// The records of a store from before columns are found, also after they were converted into segments of the current format.
func TestOlderSegments(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "older"))); err != nil {
		t.Fatal(err)
	}
	check := func(ctx context.Context, s *Store) {
		t.Helper()
		for text, want := range map[string]int{
			"": 600, "record": 600, `"record 77"`: 1, "n=333": 1, "word=w555": 1, "path=/api/9": 1, "path~/api/9.$": 10, "took>595ms": 5, "n>=100 n<300": 200, "level>=warn": 400,
			"missing": 0, "-word=w555": 599, "took=3ms": 1, "service=quick": 200,
		} {
			f, err := filter.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			records, err := meanwhile.Collect(s.Find(ctx, storage.Query{Filter: f}))
			if err != nil || len(records) != want {
				t.Errorf("%s: %d records, want %d, %v", text, len(records), want, err)
			}
			for _, r := range records {
				if r.Message != fmt.Sprint("record ", r.Attrs[0].Value) {
					t.Errorf("%s: %+v", text, r)
				}
			}
		}
	}
	err := meanwhile.Run(t.Context(), func(ctx context.Context) error {
		s, _ := sabotaged(t, dir)
		check(ctx, s)
		s.rotateNow(t)
		if err := s.convertAll(ctx); err != nil {
			return err
		}
		check(ctx, s)
		svc := s.services["quick"]
		if !svc.segments[0].older || !s.services["dense"].segments[0].older {
			t.Error("the segments do not have the older format")
		}
		if err := s.condense(ctx, svc, svc.segments); err != nil {
			return err
		}
		if svc.segments[0].older {
			t.Error("the new segment has the older format")
		}
		check(ctx, s)
		return s.Close()
	})
	if err != nil {
		t.Error(err)
	}
}
