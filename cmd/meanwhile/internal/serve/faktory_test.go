package serve

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFaktorySettings(t *testing.T) {
	folder := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const local, open = "127.0.0.1:7419", "0.0.0.0:7419"
	for _, test := range []struct {
		name     string
		command  Command
		variable string
		password string
		exposed  bool
		want     string // part of the error
	}{
		{name: "none"},
		{name: "local", command: Command{Faktory: local}},
		{name: "variable", command: Command{Faktory: open}, variable: " correct horse\n", password: "correct horse", exposed: true},
		{name: "file", command: Command{Faktory: open, FaktoryPasswordFile: file("right", "battery staple\n")}, variable: "correct horse", password: "battery staple", exposed: true},
		{name: "all", command: Command{Faktory: open, NoAuth: true}, exposed: true},
		{name: "others reach it", command: Command{Faktory: open}, want: "--faktory: others can reach 0.0.0.0:7419: give --faktory-password-file"},
		{name: "all interfaces", command: Command{Faktory: ":7419"}, want: "others can reach :7419"},
		{name: "no port", command: Command{Faktory: "localhost"}, want: `--faktory: "localhost" is not an address`},
		{name: "no address", command: Command{FaktoryFlush: true}, want: "for --faktory, which is not given"},
		{name: "no file", command: Command{Faktory: local, FaktoryPasswordFile: filepath.Join(folder, "none")}, want: "--faktory-password-file: open"},
		{name: "empty file", command: Command{Faktory: local, FaktoryPasswordFile: file("empty", " \n")}, want: "has no password"},
		{name: "short", command: Command{Faktory: local}, variable: "short", want: "MEANWHILE_FAKTORY_PASSWORD: the password has 5 bytes: give one of at least 8"},
		{name: "long", command: Command{Faktory: local}, variable: strings.Repeat("x", 5000), want: "longer than 4096 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("MEANWHILE_FAKTORY_PASSWORD", test.variable)
			got, err := test.command.planFaktory()
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Fatalf("got %v, want %q", err, test.want)
			}
			if err == nil && (got.password != test.password || got.exposed != test.exposed || got.address != test.command.Faktory) {
				t.Errorf("got %+v", got)
			}
			if err != nil && test.variable != "" && strings.Contains(err.Error(), test.variable) {
				t.Error("the password is in the error")
			}
		})
	}
}
