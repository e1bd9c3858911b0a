package job_test

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/meanwhile-go/meanwhile/job"
)

func TestNewIDIsAUUIDThatGrows(t *testing.T) {
	before := time.Now().Truncate(time.Millisecond)
	var last string
	for range 10_000 {
		id := job.NewID()
		text := id.String()
		if text <= last {
			t.Fatalf("%s does not come after %s", text, last)
		}
		if text[14] != '7' || text[19] < '8' || text[19] > 'b' {
			t.Fatalf("%s is not of version 7 and variant 10", text)
		}
		last = text
	}
	id := job.NewID()
	if at := id.Time(); at.Before(before) || at.After(time.Now().Add(time.Second)) {
		t.Errorf("the time of a new ID is %v", at)
	}
}

func TestNewIDByMany(t *testing.T) {
	var mu sync.Mutex
	seen := map[job.ID]bool{}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 2000 {
				id := job.NewID()
				mu.Lock()
				if seen[id] {
					t.Errorf("NewID returned %v twice", id)
				}
				seen[id] = true
				mu.Unlock()
			}
		})
	}
	group.Wait()
}

func TestIDRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var id job.ID
		copy(id[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "bytes"))
		back, err := job.ParseID(id.String())
		if err != nil || back != id {
			t.Fatalf("%v came back as %v, %v", id, back, err)
		}
		text, err := json.Marshal(id)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &back); err != nil || back != id {
			t.Fatalf("%s came back as %v, %v", text, back, err)
		}
	})
}

func TestParseIDErrors(t *testing.T) {
	for _, text := range []string{"", "7", "01932c07-209b-7bcd-a3f1-0c5de4a3b1f", "01932c07x209b-7bcd-a3f1-0c5de4a3b1f9", "g1932c07-209b-7bcd-a3f1-0c5de4a3b1f9"} {
		if id, err := job.ParseID(text); err == nil {
			t.Errorf("ParseID(%q) = %v, want an error", text, id)
		}
	}
}
