package main

import (
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
)

func TestMain(m *testing.M) {
	if os.Getenv("MEANWHILE_TEST_MAIN") != "" {
		main()
	}
	testenv.DefaultSignals()
	testscript.Main(tests{m}, map[string]func(){"meanwhile": main, "send-request": sendRequestMain})
}

// tests runs the tests of this package, if the process is not a command of a script.
type tests struct{ *testing.M }

func (t tests) Run() int {
	testenv.Parallel(8)
	return t.M.Run()
}

// TestScript runs the scripts, each with its own servers: $URL and $HOST are the URL and the address of one, $OTHER is the same
// server by another name, $SECURE is a server with an untrusted certificate. $PORT is free for a server of the script itself, and
// cert.pem and key.pem are such a certificate for it. The condition [long] holds when long tests are enabled.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			s := newServer()
			secure := httptest.NewUnstartedServer(s.Config.Handler)
			secure.Config.ErrorLog = log.New(io.Discard, "", 0)
			secure.EnableHTTP2 = true
			secure.StartTLS()
			env.Values["server"] = s
			env.Defer(func() { s.CloseClientConnections(); s.Close(); secure.Close() })
			host := strings.TrimPrefix(s.URL, "http://")
			env.Setenv("GOGC", "400") // a command would collect its garbage twice before it has started, and there are hundreds of commands
			env.Setenv("URL", s.URL)
			env.Setenv("HOST", host)
			env.Setenv("OTHER", strings.Replace(s.URL, "127.0.0.1", "localhost", 1))
			env.Setenv("SECURE", secure.URL)
			port, err := freePort()
			if err != nil {
				return err
			}
			env.Setenv("PORT", port)
			logs, err := freePort()
			env.Setenv("LOGS_PORT", logs)
			if err == nil {
				err = writeCertificate(env.WorkDir, secure.TLS.Certificates[0])
			}
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"await": onServer((*server).awaitRequests),
			"asked": onServer((*server).checkAsked),
			"most":  onServer((*server).checkMost),
			"lines": writeLines,

			"envsubst": expandFile,
			"request":  request,

			"keep-logs":  keepLogs,
			"serve-logs": serveLogs,
		},
		Condition: func(name string) (bool, error) {
			if name != "long" {
				return false, fmt.Errorf("unknown condition %q", name)
			}
			return testenv.Long(), nil
		},
		UpdateScripts: os.Getenv("UPDATE") != "",
	})
}

// onServer makes a script command of a server's method.
func onServer(f func(*server, *testscript.TestScript, bool, []string)) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		f(ts.Value("server").(*server), ts, neg, args)
	}
}

// writeLines is a script command: "lines FILE N TEXT" writes a file with N times the line TEXT.
func writeLines(ts *testscript.TestScript, _ bool, args []string) {
	n := 0
	for _, digit := range args[1] {
		n = n*10 + int(digit-'0')
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Repeat(args[2]+"\n", n)), 0o666))
}

// expandFile is a script command: "envsubst FILE" replaces the variables in a file.
func expandFile(ts *testscript.TestScript, _ bool, args []string) {
	text := os.Expand(ts.ReadFile(args[0]), ts.Getenv)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o666))
}
