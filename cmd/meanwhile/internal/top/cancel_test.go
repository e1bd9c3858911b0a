package top

import (
	"strings"
	"testing"

	"github.com/meanwhile-go/meanwhile/cmd/meanwhile/internal/probe"
)

func TestCancelAsksFirst(t *testing.T) {
	for _, key := range []string{"n", "esc", "enter", "c", "q", "space", "down"} {
		s := newScreen(t, shop())
		s.press("down", "c")
		s.wantLine("Cancel shop/server and 3 tasks below? (y/n)")
		s.press(key)
		s.wantLine("Nothing was canceled.")
		s.press("y")
		s.wantAsked()
		s.wantRows(" shop", "›├─ server", " │  ├─ conn 1", " │  └─ conn 2", " │     └─ query", " └─ mailer")
	}
}

// TestCancel: the question is about the task that it names, even if the selection or the snapshot changes.
func TestCancel(t *testing.T) {
	s := newScreen(t, shop())
	s.press("down", "c")
	s.show(task(9, "other"))
	s.wantLine("Cancel shop/server and 3 tasks below? (y/n)")
	s.press("y")
	s.wantAsked("cancel shop/server")
	s.wantLine("Canceling shop/server …")
	s.model.Update(answer{request: request{cancel, shop().Tasks[0]}, at: s.time})
	s.wantLine("Canceled shop/server.")
	s.wantAsked("picture")

	s.press("c", "y")
	s.show()
	s.asked = nil
	s.fail(request{cancel, task(9, "other")}, probe.ErrEnded)
	s.wantLine("other has ended before.")
	s.fail(request{cancel, task(9, "other")}, &probe.Failure{Reason: "the token is wrong"})
	s.wantLine("Not canceled: the token is wrong.")
}

// TestQuestionWithAFilter: descendants that a filter hides are canceled, too.
func TestQuestionWithAFilter(t *testing.T) {
	s := newScreen(t, shop())
	s.press("down", "/", "q", "u", "e", "r", "y", "enter", "c")
	s.wantLine("Cancel shop/server and 3 tasks below? (y/n)")
}

func TestCancelIsOfferedOnlyWhereItWorks(t *testing.T) {
	s := newScreen(t, shop())
	s.model.token = false
	s.press("c")
	s.wantLine("MEANWHILE_CANCEL_TOKEN")
	s.press("y")
	s.wantNoLine("MEANWHILE_CANCEL_TOKEN")
	s.model.token = true
	s.model.snapshot.CanCancel = false
	s.press("c")
	s.wantLine("CancelToken in its live.Config")
	s.press("y")
	s.wantAsked()
}

// TestQuestionAboutALongPath: the end of a long path is shown.
func TestQuestionAboutALongPath(t *testing.T) {
	s := newScreen(t, task(1, strings.Repeat("商品/", 100)+"end", task(2, "x")))
	s.resize(40, 10)
	s.press("c")
	text := strings.Join(s.lines(), "\n")
	if !strings.Contains(strings.ReplaceAll(text, "\n", ""), "/end and 1 task below? (y/n)") || len(s.lines()) != 10 {
		t.Errorf("got\n%s", text)
	}
}
