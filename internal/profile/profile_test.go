package profile

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/meanwhile-go/meanwhile/internal/testenv"
)

// TestGoToolPprof: "go tool pprof" reads the samples, their source lines and their labels.
func TestGoToolPprof(t *testing.T) {
	testenv.LongTest(t)
	pprof := testenv.Pprof(t)
	p := New("wait", time.Minute)
	query := Frame{"shop.query", "shop/db.go", 12}
	p.Add(30*time.Second, []Frame{{"database/sql.(*DB).QueryContext", "sql.go", 7}, query, {"shop.order", "shop/order.go", 94}},
		Label{"task", "shop/order"}, Label{"wait", "database pool"})
	p.Add(10*time.Second, []Frame{{"sync.(*Mutex).Lock", "mutex.go", 3}, {"shop.order", "shop/order.go", 90}},
		Label{"task", "shop/order"}, Label{"wait", "mutex"})
	p.Add(5*time.Second, nil, Label{"task", "shop/mail"})
	path := filepath.Join(t.TempDir(), "waits.pb.gz")
	write(t, p, path)
	for _, test := range []struct {
		flag  string
		wants []string
	}{
		{"-top", []string{
			"Type: wait", "Duration: 60s, Total samples = 45s",
			"30s 66.67% 66.67%        30s 66.67%  database/sql.(*DB).QueryContext", "0     0% 88.89%        40s 88.89%  shop.order",
		}},
		{"-tags", []string{"task: Total", "shop/order", "shop/mail", "database pool"}},
		{"-list=shop.query", []string{"shop/db.go"}},
	} {
		cmd := exec.Command(pprof, test.flag, "-unit=s", path)
		cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v", test.flag, err)
		}
		for _, want := range test.wants {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s: %q is not in\n%s", test.flag, want, out)
			}
		}
	}
	// A profile without samples can be read, too.
	path = filepath.Join(t.TempDir(), "empty.pb.gz")
	write(t, New("wait", 0), path)
	if out, err := exec.Command(pprof, "-raw", path).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func write(t *testing.T, p *Profile, path string) {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}
