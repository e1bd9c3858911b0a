package load

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile"
)

// sink receives a load, and returns all bytes, connection after connection, without Analogger's first frame.
func sink(t *testing.T, l Load) []byte {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	l.Address = listener.Addr().String()
	var all bytes.Buffer
	err = meanwhile.Run(t.Context(), func(ctx context.Context) error {
		meanwhile.Go(ctx, l.Send)
		parts := make(chan []byte, l.Connections)
		for range l.Connections {
			c, err := listener.Accept()
			if err != nil {
				return err
			}
			meanwhile.Go(ctx, func(context.Context) error {
				defer c.Close()
				if l.Format == Analogger {
					first := make([]byte, 25+len(l.Key))
					if _, err := io.ReadFull(c, first); err != nil || !strings.HasSuffix(string(first), ":authentication:"+l.Key) {
						return fmt.Errorf("first frame %q: %v", first, err)
					}
					if _, err := io.WriteString(c, "accepted\n"); err != nil {
						return err
					}
				}
				part, err := io.ReadAll(c)
				parts <- part
				return err
			})
		}
		for range l.Connections {
			all.Write(<-parts)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.Bytes()
}

func TestFormats(t *testing.T) {
	for _, f := range Formats {
		t.Run(string(f), func(t *testing.T) {
			l := Load{Format: f, Connections: 3, Messages: 5000, Key: "secret"}
			got := sink(t, l)
			switch f { // convert to lines
			case Analogger:
				got = bytes.ReplaceAll(got, []byte("01180118:"), []byte("\n01180118:"))[1:]
				got = append(got, '\n')
			case Octets:
				got = bytes.ReplaceAll(got, []byte("149 <14>"), []byte("\n149 <14>"))[1:]
				got = append(got, '\n')
			}
			name := filepath.Join(t.TempDir(), "app.log")
			if err := os.WriteFile(name, got, 0o600); err != nil {
				t.Fatal(err)
			}
			if tally, err := l.Count(name); err != nil || !tally.Complete() || tally.Arrived != l.Messages {
				t.Errorf("%v, %v; the first line: %.200q", tally, err, got)
			}
		})
	}
}

func TestCount(t *testing.T) {
	line := func(conn, n int) string {
		text := fmt.Sprintf("2026 app #c%03d n%08d#", conn, n)
		return text + filler[:MessageSize-markSize] + "\n"
	}
	l := Load{Connections: 2, Messages: 5} // three and two
	tests := map[string]struct {
		files []string
		want  Tally
	}{
		"all":          {[]string{line(0, 0) + line(1, 0) + line(0, 1), line(1, 1) + line(0, 2)}, Tally{Arrived: 5}},
		"one lost":     {[]string{line(0, 0) + line(1, 0) + line(0, 2) + line(1, 1)}, Tally{Arrived: 4, Lost: 1}},
		"one doubled":  {[]string{line(0, 0) + line(1, 0) + line(0, 1), line(1, 1) + line(0, 2) + line(0, 0)}, Tally{Arrived: 5, Doubled: 1}},
		"out of order": {[]string{line(0, 1) + line(0, 0) + line(0, 2) + line(1, 0) + line(1, 1)}, Tally{Arrived: 5, Disordered: 1}},
		"of others":    {[]string{line(2, 0) + line(0, 3) + "started\n" + line(1, 1)[:50]}, Tally{Lost: 5, Strange: 4}},
		"nothing":      {nil, Tally{Lost: 5}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var names []string
			for i, text := range test.files {
				name := filepath.Join(t.TempDir(), fmt.Sprint(i))
				if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				names = append(names, name)
			}
			if got, err := l.Count(names...); err != nil || got != test.want {
				t.Errorf("got %v, %v; want %v", got, err, test.want)
			}
		})
	}
}

func TestSendStaysOnThisMachine(t *testing.T) {
	for _, address := range []string{"192.0.2.1:514", "logs:514", "127.0.0.1"} {
		if err := (Load{Address: address, Format: BSD, Connections: 1, Messages: 1}).Send(t.Context()); err == nil {
			t.Errorf("sends to %s", address)
		}
	}
}
