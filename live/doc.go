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
// A [Handler] looks at the method and the query only, so that it may have any path.
//
//	GET                  the trees as text, after a line with the program and its counts
//	GET ?format=json     a Snapshot; the same with the header Accept: application/json
//	GET ?task=ID         a Detail as JSON, or 404 when the task has ended
//	GET ?waits           the wait profile of the last minute as text: where the time of the tasks went, by their names
//	GET ?waits&format=json    the same as a [inspect.WaitProfile]
//	GET ?waits&format=pprof   the same for go tool pprof, with the labels task and wait
//	                     each of the three is a 404 while the program runs no [inspect.Watch]
//	GET ?leaks           goroutines that can never go on, as text; the program collects its garbage for it
//	GET ?leaks&format=json    the same as [Leaks]; both are a 501 where the program was built with a version of Go before 1.27
//	POST cancel=ID&path=PATH, as a form, with the header Authorization: Bearer TOKEN
//	                     cancels the task if that is still its path, and answers 204; 403 when the program allows no
//	                     canceling, 401 without the token or with a wrong one, 404 when the task has ended
//
// The trees come with up to 10,000 tasks, or up to ?max=N, at most 1,000,000. The shallow ones come first; the rest, and
// what is more than 1,000 levels deep, is counted in the field More of the task above it. Trees that are left out as a
// whole are counted in Tasks of the Snapshot.
//
// To draw the wait profile as a flame graph:
//
//	go tool pprof -http=: 'http://localhost:6060/debug/meanwhile?waits&format=pprof'
//
// The types [Snapshot], [Detail] and [Leaks] read the JSON. An error comes as one line of text: 400 says what is wrong with the
// request, 403 which setting would allow it.
//
// # Who gets an answer
//
// By default this machine alone. The connection must come from a loopback address or a Unix socket, and the request must
// ask for localhost or a loopback address, which a page that had its name point to this machine does not. It must not
// carry a header by which proxies tell for whom they ask. A proxy that adds no such header and asks for localhost cannot
// be distinguished from a user of this machine: do not let it pass the path on.
//
// With [Config].Remote everybody who reaches the handler gets an answer: guard the path as you would any page of an
// administrator, and serve it by TLS, which the token needs as well.
//
// An answer has what a [inspect.Node] has and the base name of the program: names of tasks, functions and files, but no
// values of arguments, no command line and no environment.
//
// # What it costs
//
// Nothing until somebody asks. A snapshot of 100,000 tasks can take a second of a processor. Requests at the same time share
// one snapshot, and so do those of the 100 ms after it, or of the time it took if that is longer: an answer may be that old. Leaks
// are looked for once in ten seconds, or in a hundred times what that took.
package live
