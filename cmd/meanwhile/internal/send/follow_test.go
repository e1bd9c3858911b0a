package send

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
	"github.com/meanwhile-go/meanwhile/logs"
)

// A server replaces the server that a follower sends to.
type server struct {
	messages []string
	saved    int // number of messages when positions were last saved
	away     error
}

// follows starts a follower of the files *.log in a folder, as a new process does.
func (s *server) follows(t interface{ Fatal(...any) }, folder string) *follower {
	state, err := openState(filepath.Join(folder, "state"))
	if err != nil {
		t.Fatal(err)
	}
	f := &follower{
		patterns: []string{filepath.Join(folder, "*.log")}, state: state, buf: make([]byte, 16),
		problems: func(format string, args ...any) { t.Fatal(fmt.Sprintf(format, args...)) },
		open:     func(_ string, take func(*logs.View)) *lines { return &lines{take: take, most: 100} },
		flush:    func(context.Context) error { return s.away },
		send: func(v *logs.View) error {
			s.messages = append(s.messages, string(v.Message))
			return nil
		},
	}
	f.resume()
	f.scan(start)
	return f
}

var start = time.Now()

// dies stops a follower without saving, like a kill.
func dies(f *follower) {
	f.close()
	f.state.close()
}

// rounds reads all that is available. Records that may continue wait, unless now is late enough.
func (s *server) rounds(t interface{ Fatal(...any) }, f *follower, now time.Time) {
	for {
		n, err := f.round(now)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return
		}
	}
}

func (s *server) save(t interface{ Fatal(...any) }, f *follower) {
	if err := f.save(context.Background()); err != nil {
		t.Fatal(err)
	}
	s.saved = len(s.messages)
}

// TestFollowLaw: whatever happens to files and to the process, each line is sent, in the order of its file, and only lines that were
// sent after positions were last saved before a kill are sent twice.
func TestFollowLaw(t *testing.T) {
	testenv.LongTest(t) // it calls fsync often
	rapid.Check(t, func(t *rapid.T) {
		folder, err := os.MkdirTemp("", "follow")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.RemoveAll(folder) }()
		var s server
		f := s.follows(t, folder)
		files := map[string]*os.File{}
		rest := map[string]string{} // rest of a partly written record
		var want []string
		again, rotated := 0, map[string]int{}
		write := func(name, text string) {
			if files[name] == nil {
				file, err := os.OpenFile(filepath.Join(folder, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
				if err != nil {
					t.Fatal(err)
				}
				files[name] = file
			}
			if _, err := files[name].WriteString(text); err != nil {
				t.Fatal(err)
			}
		}
		finish := func(name string) {
			write(name, rest[name])
			rest[name] = ""
		}
		name := rapid.SampledFrom([]string{"a.log", "b.log", "c.log"})
		t.Repeat(map[string]func(*rapid.T){
			"write": func(t *rapid.T) {
				name := name.Draw(t, "name")
				finish(name)
				record := fmt.Sprintf("%s.%d %d %s", name, rotated[name], len(want), strings.Repeat("x", rapid.IntRange(0, 40).Draw(t, "length")))
				if rapid.Bool().Draw(t, "two lines") {
					record += "\n  and more"
				}
				want = append(want, record)
				record += "\n"
				cut := rapid.IntRange(0, len(record)).Draw(t, "cut")
				write(name, record[:cut])
				rest[name] = record[cut:]
			},
			"read": func(t *rapid.T) { s.rounds(t, f, start) },
			"save": func(t *rapid.T) { s.save(t, f) },
			"scan": func(*rapid.T) { f.scan(start) },
			"rename": func(t *rapid.T) {
				name := name.Draw(t, "name")
				if files[name] == nil {
					return
				}
				f.scan(start) // scan runs between two renames
				if rapid.Bool().Draw(t, "after it was finished") {
					finish(name)
				}
				if err := os.Rename(filepath.Join(folder, name), filepath.Join(folder, fmt.Sprint(name, ".", rotated[name]))); err != nil {
					t.Fatal(err)
				}
				finish(name) // by a program that still has it open
				rotated[name]++
				_ = files[name].Close()
				delete(files, name)
				s.save(t, f) // so that the next process knows its position
			},
			"truncate": func(t *rapid.T) {
				name := name.Draw(t, "name")
				if files[name] == nil {
					return
				}
				finish(name)
				f.scan(start)
				s.rounds(t, f, start) // unread lines would be lost
				if err := os.Truncate(filepath.Join(folder, name), 0); err != nil {
					t.Fatal(err)
				}
				s.rounds(t, f, start)
				s.save(t, f)
			},
			"kill": func(t *rapid.T) {
				dies(f)
				again += len(s.messages) - s.saved
				s.saved = len(s.messages)
				f = s.follows(t, folder)
			},
		})
		for name := range files {
			finish(name)
			_ = files[name].Close()
		}
		f.scan(start)
		s.rounds(t, f, start.Add(time.Hour))
		dies(f)
		if twice := len(s.messages) - len(want); twice > again {
			t.Fatalf("%d records were sent twice, want at most %d\n%q", twice, again, s.messages)
		}
		seen := map[string]bool{}
		var order []string
		for _, m := range s.messages {
			if !seen[m] {
				seen[m] = true
				order = append(order, m)
			}
		}
		byFile := func(a, b string) int {
			a, _, _ = strings.Cut(a, " ")
			b, _, _ = strings.Cut(b, " ")
			return strings.Compare(a, b)
		}
		slices.SortStableFunc(order, byFile)
		slices.SortStableFunc(want, byFile)
		if !slices.Equal(order, want) {
			t.Fatalf("got  %q\nwant %q", order, want)
		}
	})
}

// TestFollow: a file is renamed, truncated, and read by another process after a kill. Each line is sent once, since positions were saved before.
func TestFollow(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a.log")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	write := func(text string) {
		t.Helper()
		if _, err := file.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	var s server
	f := s.follows(t, folder)
	write("one\ntwo\n  and mo")
	f.scan(start)
	s.rounds(t, f, start)
	s.save(t, f)
	dies(f)
	if err := os.Rename(path, path+".1"); err != nil { // while no scan runs
		t.Fatal(err)
	}
	write("re\nthree\n")
	if err := os.WriteFile(path, []byte("four\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f = s.follows(t, folder)
	s.rounds(t, f, start.Add(time.Hour))
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	s.rounds(t, f, start)
	if err := os.WriteFile(path, []byte("five\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.rounds(t, f, start.Add(time.Hour))
	s.save(t, f)
	dies(f)
	f = s.follows(t, folder)
	s.rounds(t, f, start.Add(time.Hour))
	dies(f)
	if want := []string{"one", "two\n  and more", "three", "four", "five"}; !slices.Equal(s.messages, want) {
		t.Errorf("got %q, want %q", s.messages, want)
	}
}

// TestFollowKnowsAnotherFile: a file with other first bytes is another file, even if it has the same inode.
func TestFollowKnowsAnotherFile(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a.log")
	put := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil { // the inode stays the same
			t.Fatal(err)
		}
	}
	var s server
	put("one\ntwo\n")
	f := s.follows(t, folder)
	s.rounds(t, f, start.Add(time.Hour))
	s.save(t, f)
	dies(f)
	put("three, which is longer\n")
	f = s.follows(t, folder)
	s.rounds(t, f, start.Add(time.Hour))
	put("four, which is as lon\n\n") // truncated, and written to the same length
	if err := os.Chtimes(path, start.Add(time.Hour), start.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	s.rounds(t, f, start.Add(time.Hour))
	dies(f)
	if want := []string{"one", "two", "three, which is longer", "four, which is as lon"}; !slices.Equal(s.messages, want) {
		t.Errorf("got %q, want %q", s.messages, want)
	}
}

// TestFollowSavesWhatIsAcknowledged: while the server acknowledges nothing, no position is saved.
func TestFollowSavesWhatIsAcknowledged(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "a.log"), []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := server{away: errors.New("away")}
	f := s.follows(t, folder)
	s.rounds(t, f, start.Add(time.Hour))
	if err := f.save(t.Context()); !errors.Is(err, s.away) {
		t.Errorf("got %v", err)
	}
	dies(f)
	s.away = nil
	f = s.follows(t, folder)
	s.rounds(t, f, start.Add(time.Hour))
	dies(f)
	if want := []string{"one", "one"}; !slices.Equal(s.messages, want) {
		t.Errorf("got %q, want %q", s.messages, want)
	}
}

// TestFollowFindsAFileWhileSaving: the position of a file that appears again while a save waits for the server is kept.
func TestFollowFindsAFileWhileSaving(t *testing.T) {
	folder := t.TempDir()
	path, away := filepath.Join(folder, "a.log"), filepath.Join(t.TempDir(), "a.log")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rename := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	write(path, "one\ntwo\n")
	var s server
	f := s.follows(t, folder)
	s.rounds(t, f, start.Add(time.Hour))
	s.save(t, f)
	dies(f)
	rename(path, away)
	f = s.follows(t, folder)
	write(filepath.Join(folder, "b.log"), "three\n")
	f.scan(start)
	s.rounds(t, f, start.Add(time.Hour))
	f.flush = func(context.Context) error {
		rename(away, path)
		f.scan(start)
		return nil
	}
	s.save(t, f)
	dies(f)
	f = s.follows(t, folder)
	s.rounds(t, f, start.Add(time.Hour))
	dies(f)
	if want := []string{"one", "two", "three"}; !slices.Equal(s.messages, want) {
		t.Errorf("got %q, want %q", s.messages, want)
	}
}

// TestFollowKnowsAFileThatWasAway: a file that is back after it was out of sight for more than a minute is continued, by the same process and by
// the next one. A deleted file is forgotten.
func TestFollowKnowsAFileThatWasAway(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no numbers of links here")
	}
	for _, killed := range []bool{false, true} {
		folder := t.TempDir()
		path, away := filepath.Join(folder, "a.log"), filepath.Join(t.TempDir(), "a.log")
		deleted := filepath.Join(folder, "deleted.log")
		for name, text := range map[string]string{path: "one\ntwo\n", deleted: "three\n"} {
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var s server
		f := s.follows(t, folder)
		s.rounds(t, f, start.Add(time.Hour))
		if err := errors.Join(os.Rename(path, away), os.Remove(deleted)); err != nil {
			t.Fatal(err)
		}
		f.scan(start)
		s.rounds(t, f, start.Add(2*goneFor))
		s.save(t, f)
		if n := len(f.all()); n != 0 {
			t.Errorf("%d files are open, want none", n)
		}
		if kept := f.positions(); len(kept) != 1 || kept[0].Path != path {
			t.Errorf("kept %+v, want the position of %s", kept, path)
		}
		if killed {
			dies(f)
			f = s.follows(t, folder)
		}
		file, err := os.OpenFile(away, os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		_, err = file.WriteString("four\n")
		if err := errors.Join(err, file.Close(), os.Rename(away, path)); err != nil {
			t.Fatal(err)
		}
		f.scan(start)
		s.rounds(t, f, start.Add(time.Hour))
		dies(f)
		slices.Sort(s.messages)
		if want := []string{"four", "one", "three", "two"}; !slices.Equal(s.messages, want) {
			t.Errorf("killed %v: got %q, want %q", killed, s.messages, want)
		}
	}
}

// TestFollowForgetsTheOldest: of the files that were rotated long ago, only so many are known, and none is opened by the next process.
func TestFollowForgetsTheOldest(t *testing.T) {
	s := &followState{unseen: []position{{Path: "absent"}}}
	for i := range mostOver + 10 {
		s.keep(position{Path: fmt.Sprint(i), Inode: 1})
	}
	kept := s.with(nil)
	if len(kept) != mostOver+1 || kept[0].Path != "absent" || kept[1].Path != "10" {
		t.Errorf("%d positions, the first are %+v", len(kept), kept[:2])
	}
	if folders := s.folders(); len(folders) != 1 {
		t.Errorf("rotated files are searched in %q", folders)
	}
}

// TestFollowState: a state folder cannot be used by two processes, which would overwrite each other's positions, and a damaged state is reported.
func TestFollowState(t *testing.T) {
	folder := t.TempDir()
	s, err := openState(folder)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openState(folder); err == nil || !strings.Contains(err.Error(), "another process has it") {
		t.Errorf("got %v", err)
	}
	s.close()
	if err := os.WriteFile(filepath.Join(folder, "positions"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openState(folder); err == nil || !strings.Contains(err.Error(), "is damaged") {
		t.Errorf("got %v", err)
	}
}

// TestFollowEnds: a renamed file is closed and forgotten when it has not been written to for a while.
func TestFollowEnds(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a.log")
	if err := os.WriteFile(path, []byte("one\nno end"), 0o600); err != nil {
		t.Fatal(err)
	}
	var s server
	f := s.follows(t, folder)
	defer dies(f)
	s.rounds(t, f, start)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	f.scan(start)
	s.rounds(t, f, start.Add(goneFor-1))
	if len(f.all()) != 1 {
		t.Error("the file was closed too early")
	}
	s.rounds(t, f, start.Add(goneFor))
	if len(f.all()) != 0 || !slices.Equal(s.messages, []string{"one", "no end"}) {
		t.Errorf("%d files are open, sent %q", len(f.all()), s.messages)
	}
}

// TestFollowSavesWhatIsIdle: a record that no further line follows is sent late. The position after it is saved then, so that it
// is not sent again after a kill.
func TestFollowSavesWhatIsIdle(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a.log")
	saved := func() string {
		text, err := os.ReadFile(filepath.Join(folder, "state", "positions"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	synctest.Test(t, func(t *testing.T) {
		if err := os.WriteFile(path, []byte("one\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		var s server
		f := s.follows(t, folder)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- f.run(ctx, time.Second) }()
		time.Sleep(time.Minute)
		if err := os.WriteFile(path, []byte("one\ntwo\n"), 0o600); err != nil { // long after positions were last saved
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := saved(); !strings.Contains(got, `"offset":8,`) {
			t.Errorf("a minute after the last line the positions are %s", got)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		f.state.close()
	})
}

// TestFollowBehindALink: the rest of a file that was renamed behind a symbolic link is sent by the next process, although it is not
// in a folder of the pattern.
func TestFollowBehindALink(t *testing.T) {
	folder, behind := t.TempDir(), t.TempDir()
	path := filepath.Join(behind, "0.log")
	write := func(name, text string) {
		t.Helper()
		file, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		_, err = file.WriteString(text)
		if err := errors.Join(err, file.Close()); err != nil {
			t.Fatal(err)
		}
	}
	write(path, "one\ntw")
	if err := os.Symlink(path, filepath.Join(folder, "a.log")); err != nil {
		t.Fatal(err)
	}
	var s server
	f := s.follows(t, folder)
	s.rounds(t, f, start.Add(time.Hour))
	s.save(t, f)
	dies(f)
	write(path, "o\n")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	write(path, "three\n")
	f = s.follows(t, folder)
	s.rounds(t, f, start.Add(time.Hour))
	dies(f)
	if want := []string{"one", "two", "three"}; !slices.Equal(s.messages, want) {
		t.Errorf("got %q, want %q", s.messages, want)
	}
}

// TestFollowStateByPath: where files have no inode number, two files with the same name in two folders have their own positions.
func TestFollowStateByPath(t *testing.T) {
	folder := t.TempDir()
	a, b := filepath.Join(folder, "a", "x.log"), filepath.Join(folder, "b", "x.log")
	if err := os.Mkdir(filepath.Dir(b), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(b)
	if err != nil {
		t.Fatal(err)
	}
	s := &followState{unseen: []position{{Path: a, Offset: 1}, {Path: b, Offset: 2}}}
	if p, ok := s.takePosition(b, withoutID{info}); !ok || p.Offset != 2 {
		t.Errorf("got %+v, %v", p, ok)
	}
}

// A withoutID is the FileInfo of a file without an inode number.
type withoutID struct{ os.FileInfo }

func (withoutID) Sys() any { return nil }

// TestFollowReportsPrintable: file names may have any characters, and are printed so that they do not affect a terminal.
func TestFollowReportsPrintable(t *testing.T) {
	var got string
	f := &follower{problems: func(format string, args ...any) { got = fmt.Sprintf(format, args...) }}
	f.report("a\x1b[2J.log", errors.New("no \x1b"))
	if strings.Contains(got, "\x1b") || !strings.HasSuffix(got, ".log: no ?") {
		t.Errorf("got %q", got)
	}
}
