package meanwhile_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	. "github.com/meanwhile-go/meanwhile"
)

// longestLine is the length of the longest line that Lines yields, as its comment says.
const longestLine = 1 << 20

// chunks reads a text in pieces of the given sizes, the last of which repeats.
type chunks struct {
	text  []byte
	sizes []int
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.text) == 0 {
		return 0, io.EOF
	}
	n := len(p)
	if len(c.sizes) > 0 {
		n = min(n, c.sizes[0])
	}
	if len(c.sizes) > 1 {
		c.sizes = c.sizes[1:]
	}
	n = copy(p[:n], c.text)
	c.text = c.text[n:]
	return n, nil
}

// split returns the lines of a text as the standard library splits them, without those that are too long, whose numbers are
// in long.
func split(text []byte) (lines []string, long []int) {
	s := bufio.NewScanner(bytes.NewReader(text))
	s.Buffer(nil, len(text)+2)
	for number := 1; s.Scan(); number++ {
		if len(s.Text()) > longestLine {
			long = append(long, number)
		} else {
			lines = append(lines, s.Text())
		}
	}
	return lines, long
}

// readLines returns the lines that Lines yields, and its errors.
func readLines(ctx context.Context, r io.Reader) (lines []string, errs []error) {
	for line, err := range Lines(ctx, r) {
		if err != nil {
			errs = append(errs, err)
		} else {
			lines = append(lines, line)
		}
	}
	return lines, errs
}

func TestLines(t *testing.T) {
	for text, want := range map[string][]string{
		"":                   nil,
		"\n":                 {""},
		"a":                  {"a"},
		"a\n":                {"a"},
		"a\nb":               {"a", "b"},
		"a\r\nb\r\n":         {"a", "b"},
		"\r\n\n\r\n":         {"", "", ""},
		"a\rb\r\r\nc":        {"a\rb\r", "c"},
		"zeile\xff\x00\nzwo": {"zeile\xff\x00", "zwo"},
	} {
		got, errs := readLines(t.Context(), strings.NewReader(text))
		if len(errs) > 0 || !slices.Equal(got, want) {
			t.Errorf("of %q: %q, %v, want %q", text, got, errs, want)
		}
	}
}

func TestLinesCanBeRangedOverOnAndLeft(t *testing.T) {
	r := strings.NewReader("a\nb\nc\n")
	for line, err := range Lines(t.Context(), r) {
		if line != "a" || err != nil {
			t.Errorf("got %q, %v", line, err)
		}
		break
	}
}

func TestLinesLeavesOutWhatIsTooLong(t *testing.T) {
	x := func(n int) string { return strings.Repeat("x", n) }
	for name, c := range map[string]struct {
		text string
		want []int // lengths
		long []string
	}{
		"just not":    {x(longestLine) + "\n" + x(longestLine) + "\r\n" + x(longestLine), []int{longestLine, longestLine, longestLine}, nil},
		"by one":      {"a\n" + x(longestLine+1) + "\nb", []int{1, 1}, []string{"line 2 "}},
		"by one, end": {"a\n" + x(longestLine+1), []int{1}, []string{"line 2 "}},
		"by one, \\r": {x(longestLine+1) + "\r\nb\n", []int{1}, []string{"line 1 "}},
		"by far":      {x(3*longestLine) + "\n" + x(2*longestLine) + "\nb\n" + x(5*longestLine), []int{1}, []string{"line 1 ", "line 2 ", "line 4 "}},
	} {
		t.Run(name, func(t *testing.T) {
			lines, errs := readLines(t.Context(), strings.NewReader(c.text))
			var got []int
			for _, line := range lines {
				got = append(got, len(line))
			}
			if !slices.Equal(got, c.want) || len(errs) != len(c.long) {
				t.Fatalf("lines of %v bytes, errors %v; want %v and %q", got, errs, c.want, c.long)
			}
			for i, err := range errs {
				if !strings.Contains(err.Error(), c.long[i]) || len(err.Error()) > 100 {
					t.Errorf("error %v, want one about %s", err, c.long[i])
				}
			}
		})
	}
}

func TestLinesEndsWithAnErrorOfItsReader(t *testing.T) {
	reads := 0
	failing := io.MultiReader(strings.NewReader("a\nb\nc"), readerFunc(func([]byte) (int, error) {
		reads++
		return 0, errTooMuch
	}))
	lines, errs := readLines(t.Context(), failing)
	if !slices.Equal(lines, []string{"a", "b"}) || len(errs) != 1 || !errors.Is(errs[0], errTooMuch) || reads != 1 {
		t.Errorf("got %q, %v after %d reads", lines, errs, reads)
	}
	// The reader returns data and an error together.
	lines, errs = readLines(t.Context(), iotest.DataErrReader(strings.NewReader("a\nb")))
	if !slices.Equal(lines, []string{"a", "b"}) || len(errs) > 0 {
		t.Errorf("got %q, %v", lines, errs)
	}
}

// A brokenReader calls its function, which ends the reads with a panic or Goexit.
type brokenReader func()

func (r brokenReader) Read([]byte) (int, error) {
	r()
	return 0, io.EOF
}

func TestLinesEndsWithAPanicOfItsReader(t *testing.T) {
	for name, c := range map[string]struct {
		read func()
		want string
	}{
		"panic":  {func() { panic("torn") }, "panic: torn"},
		"Goexit": {runtime.Goexit, "the function called runtime.Goexit"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, ctx context.Context) {
				whole := strings.NewReader("a\n")
				got, err := Collect(Lines(ctx, io.MultiReader(whole, brokenReader(c.read))))
				if !slices.Equal(got, []string{"a"}) || err == nil || !strings.HasPrefix(err.Error(), c.want) {
					t.Errorf("got %v, %v", got, err)
				}
				if _, ok := errors.AsType[*PanicError](err); ok != (name == "panic") {
					t.Errorf("got a %T", err)
				}
			})
		})
	}
}

// A reader that reports a negative number of bytes, or more than it was given space for, ends the stream with an error that
// says so.
func TestLinesEndsWithAWrongCountOfItsReader(t *testing.T) {
	for name, count := range map[string]func(size int) int{
		"negative":             func(int) int { return -1 },
		"too large":            func(size int) int { return size + 1 },
		"larger than a buffer": func(int) int { return 1 << 30 },
	} {
		t.Run(name, func(t *testing.T) {
			lines, errs := readLines(t.Context(), io.MultiReader(strings.NewReader("a\nb"), readerFunc(func(p []byte) (int, error) {
				return count(len(p)), nil
			})))
			if !slices.Equal(lines, []string{"a"}) || len(errs) != 1 || !strings.Contains(errs[0].Error(), "bytes read into a buffer of") {
				t.Errorf("got %q, %v", lines, errs)
			}
		})
	}
}

// The error ends the stream also when the line that it cuts off was already too long.
func TestLinesEndsWithAnErrorInALongLine(t *testing.T) {
	failed := false
	r := io.MultiReader(strings.NewReader(strings.Repeat("x", longestLine+100)), readerFunc(func(p []byte) (int, error) {
		if !failed {
			failed = true
			return 0, errTooMuch
		}
		return copy(p, "more\n"), io.EOF
	}))
	lines, errs := readLines(t.Context(), r)
	if len(lines) != 0 || len(errs) == 0 || !errors.Is(errs[len(errs)-1], errTooMuch) {
		t.Errorf("got %q, %v; want no line, and last the reader's error", lines, errs)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// Data that does not fit beside the start of a line is read by the next Read, and not lost.
func TestLinesKeepsAllOfALargeRead(t *testing.T) {
	text := "start" + strings.Repeat("0123456789", 40_000) + "\nend"
	got, errs := readLines(t.Context(), &chunks{[]byte(text), []int{5, 1 << 30}})
	if len(errs) > 0 || strings.Join(got, "\n") != text {
		t.Errorf("got %d of %d bytes, errors %v", len(strings.Join(got, "\n")), len(text), errs)
	}
}

// A connection's Read is ended by a read deadline, which is removed afterwards.
func TestLinesInterruptsAConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer near.Close()
		defer far.Close()
		reason := errors.New("reason")
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			_, _ = far.Write([]byte("a\nhal"))
			time.Sleep(time.Second)
			cancel(reason)
		}()
		start := time.Now()
		lines, errs := readLines(ctx, near)
		if !slices.Equal(lines, []string{"a"}) || len(errs) != 1 || !errors.Is(errs[0], reason) || !errors.Is(errs[0], context.Canceled) {
			t.Errorf("got %q, %v, want a and the context's error with its cause", lines, errs)
		}
		if got := time.Since(start); got != time.Second {
			t.Errorf("ended after %v, want 1 s", got)
		}
		go func() { _, _ = far.Write([]byte("more")) }()
		b := make([]byte, 4)
		if _, err := io.ReadFull(near, b); err != nil || string(b) != "more" {
			t.Errorf("the connection is not readable any more: %q, %v", b, err)
		}
	})
}

// A Read that cannot be ended is abandoned; its goroutine ends when the Read returns.
func TestLinesAbandonsARead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_, _ = w.Write([]byte("a\n"))
			time.Sleep(time.Second)
			cancel()
		}()
		start := time.Now()
		lines, errs := readLines(ctx, r)
		if !slices.Equal(lines, []string{"a"}) || len(errs) != 1 || !errors.Is(errs[0], context.Canceled) {
			t.Errorf("got %q, %v", lines, errs)
		}
		if got := time.Since(start); got != time.Second {
			t.Errorf("ended after %v, want 1 s", got)
		}
		w.Close() // lets the goroutine of the Read end, and with it the bubble
	})
}

func TestLinesOfACanceledContextReadsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := strings.NewReader("a\n")
	if lines, errs := readLines(ctx, r); len(lines) > 0 || len(errs) != 1 || !errors.Is(errs[0], context.Canceled) {
		t.Errorf("got %q, %v", lines, errs)
	}
	if r.Len() != 2 {
		t.Errorf("%d bytes are left, want all", r.Len())
	}
}

// Leaving a Map ends a Read that blocks, by a deadline or by abandoning it.
func TestLinesEndsWithTheMapThatPullsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		r, w := io.Pipe()
		defer w.Close()
		for _, c := range []struct {
			r io.Reader
			w io.Writer
		}{{near, far}, {r, w}} {
			go func() { _, _ = c.w.Write([]byte("a\nhal")) }()
			start := time.Now()
			for line, err := range Map(t.Context(), Lines(context.Background(), c.r), func(_ context.Context, line string) (string, error) {
				return line, nil
			}) {
				if line != "a" || err != nil {
					t.Errorf("got %q, %v", line, err)
				}
				break
			}
			if got := time.Since(start); got != 0 {
				t.Errorf("it took %v to leave", got)
			}
		}
		near.Close()
		far.Close()
	})
}

func TestLinesReadsOnlyWhileALineIsAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := true
		lines := Lines(t.Context(), readerFunc(func(p []byte) (int, error) {
			time.Sleep(time.Second)
			if !asked {
				t.Error("read while the loop was busy")
			}
			return copy(p, "line\n"), nil
		}))
		n := 0
		for range lines {
			asked = false
			time.Sleep(time.Minute)
			asked = true
			if n++; n == 5 {
				break
			}
		}
		asked = false
		time.Sleep(time.Minute)
	})
}

// For any text and any sizes of its reads, the lines are those of bufio.Scanner, except that too long lines are left out and
// reported.
func TestLinesLaw(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		length := rapid.OneOf(
			rapid.IntRange(0, 5), rapid.IntRange(0, 5), rapid.IntRange(0, 100_000),
			rapid.IntRange(longestLine-2, longestLine+3),
		)
		var text []byte
		for _, n := range rapid.SliceOfN(length, 0, 3).Draw(r, "lengths of lines") {
			text = append(text, bytes.Repeat([]byte{'x'}, n)...)
			text = append(text, rapid.SampledFrom([]string{"\n", "\r\n", "\n\n", "\r", ""}).Draw(r, "end")...)
		}
		sizes := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(1, 10), rapid.IntRange(60_000, 70_000)), 0, 9).Draw(r, "reads")
		if len(text) > 100_000 {
			sizes = append(sizes, 50_000)
		}
		checkLines(r, text, sizes)
	})
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nb\r\n\r\n\rc"), []byte{1, 2, 3})
	f.Add([]byte("\n\n\r"), []byte{})
	f.Fuzz(func(t *testing.T, text, sizes []byte) {
		var reads []int
		for _, size := range sizes {
			reads = append(reads, 1+int(size))
		}
		checkLines(t, text, reads)
	})
}

func checkLines(t rapid.TB, text []byte, reads []int) {
	t.Helper()
	want, long := split(text)
	got, errs := readLines(context.Background(), &chunks{text, reads})
	if !slices.Equal(got, want) {
		t.Fatalf("%d bytes in reads of %v: %d lines, want %d, the same as of bufio.Scanner", len(text), reads, len(got), len(want))
	}
	if len(errs) != len(long) {
		t.Fatalf("errors %v, want them for the lines %v", errs, long)
	}
}
