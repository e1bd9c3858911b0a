// Package live shows the tasks of a running program over HTTP: all its trees, and what each task waits for.
//
//	http.Handle("/debug/meanwhile", live.Handler(live.Config{}))
//
//	$ curl localhost:6060/debug/meanwhile
//	shop (pid 4711): 1,204 tasks, 1,310 goroutines, 14 threads
//	…
//
// # Requests
//
// A [Handler] ignores the path of a request, so it can be served at any path.
//
//	GET                  the trees as text, after a line about the program with its counts
//	GET ?format=json     a Snapshot; the same with the header Accept: application/json
//	GET ?task=ID         a Detail as JSON, or 404 when the task has ended
//	GET ?waits           the wait profile of the last minute as text: how tasks spent their time, by their names
//	GET ?waits&format=json    the same as a [inspect.WaitProfile]
//	GET ?waits&format=pprof   the same for go tool pprof, with the labels task and wait
//	                     each of the three is a 404 while the program runs no [inspect.Watch]
//	GET ?leaks           goroutines that can never continue, as text; each check runs a garbage collection of the program
//	GET ?leaks&format=json    the same as [Leaks]; both are a 501 if the program was built with a version of Go before 1.27
//	POST cancel=ID&path=PATH, as a form, with the header Authorization: Bearer TOKEN
//	                     cancels the task if that is still its path, and answers 204; 403 when the program allows no
//	                     canceling, 401 without the token or with a wrong one, 404 when the task has ended
//
// The trees have up to 10,000 tasks, or up to N with ?max=N, at most 1,000,000. Shallow tasks come first; the rest, and
// those more than 1,000 levels deep, are counted in the field More of the task above them. Trees that are left out entirely
// are counted in Tasks of the Snapshot.
//
// To draw the wait profile as a flame graph:
//
//	go tool pprof -http=: 'http://localhost:6060/debug/meanwhile?waits&format=pprof'
//
// The types [Snapshot], [Detail] and [Leaks] are for reading the JSON. An error is one line of text: 400 describes what is
// wrong with the request, 403 the setting that would allow it.
//
// # Access control
//
// By default, only requests from this machine are answered. The connection must come from a loopback address or a Unix
// socket, and the Host of the request must be localhost or a loopback address: this refuses web pages whose host name was
// made to resolve to this machine (DNS rebinding). The request must not have a header in which proxies report the client
// that they forward for. A proxy that adds no such header and sends localhost as Host cannot be distinguished from a user of
// this machine: do not let it forward the path.
//
// With [Config].Remote, all requests that reach the handler are answered: protect the path like any admin page, and serve it
// over TLS, which the token needs as well.
//
// A response contains what an [inspect.Node] contains and the base name of the program: names of tasks, functions and files,
// but no values of arguments, no command line and no environment.
//
// # Cost
//
// There is no cost until there is a request. A snapshot of 100,000 tasks can take a second of a processor. Concurrent
// requests share one snapshot, and so do requests in the 100 ms after it, or in the time it took if that is longer: a
// response may be that old. Leaks are searched for at most once in ten seconds, or in a hundred times what the search took
// if that is longer.
package live
