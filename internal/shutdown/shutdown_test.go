package shutdown

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
)

// request returns a request as a server passes it to its handler.
func request(server *http.Server) *http.Request {
	r := httptest.NewRequest("GET", "/", nil)
	if server == nil {
		return r
	}
	return r.WithContext(context.WithValue(r.Context(), http.ServerContextKey, server))
}

func TestServerThatShutsDownEndsItsAnswers(t *testing.T) {
	var s Servers
	var first, second http.Server
	one, cancelOne := s.Context(request(&first))
	defer cancelOne()
	other, cancelOther := s.Context(request(&second))
	defer cancelOther()
	none, cancelNone := s.Context(request(nil))
	defer cancelNone()
	if err := first.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-one.Done()
	late, cancelLate := s.Context(request(&first)) // its connection was accepted before the shutdown
	defer cancelLate()
	<-late.Done()
	if other.Err() != nil || none.Err() != nil {
		t.Errorf("answers of other servers ended: %v, %v", other.Err(), none.Err())
	}
	cancelOther()
	if other.Err() == nil {
		t.Error("cancel did not cancel its ctx")
	}
	if len(s.ending) != 2 {
		t.Errorf("%d servers are known, want 2", len(s.ending))
	}
}
