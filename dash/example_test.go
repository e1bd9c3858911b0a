package dash_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/meanwhile-go/meanwhile/dash"
	"github.com/meanwhile-go/meanwhile/job"
	"github.com/meanwhile-go/meanwhile/job/memory"
)

// A program that serves something already shows its jobs on one more path.
func ExampleNew() {
	store := memory.New() // or any other
	mail := job.Define[string]("mail.send")
	if _, err := mail.Enqueue(context.Background(), store, "ada@example.org"); err != nil {
		fmt.Println(err)
	}

	mux := http.NewServeMux()
	mux.Handle("/jobs/", dash.New(dash.Config{Store: store, Prefix: "/jobs"}))
	server := httptest.NewServer(mux)
	defer server.Close()

	answer, err := http.Get(server.URL + "/jobs/jobs?kind=mail.send")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer answer.Body.Close()
	fmt.Println(answer.Status)
	// Output:
	// 200 OK
}
