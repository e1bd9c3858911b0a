package problem_test

import (
	"net/http/httptest"
	"testing"

	"github.com/meanwhile-go/meanwhile/internal/problem"
)

func TestWrite(t *testing.T) {
	w := httptest.NewRecorder()
	problem.Write(w, 404, `no job "<x>"`, map[string]any{"line": 3, "status": 200})
	const want = `{"detail":"no job \"\u003cx\u003e\"","line":3,"status":404,"title":"Not Found"}` + "\n"
	if w.Code != 404 || w.Body.String() != want || w.Header().Get("Content-Type") != problem.Type {
		t.Errorf("got %d %v %s, want 404 and %s", w.Code, w.Header(), w.Body, want)
	}
}
