// Package server collects records: it listens, takes them from clients of package logs and from other inputs, redacts, limits and
// counts them, and brings them where its routes say.
//
//	listener ──> connection, with the parser of its input ──> batcher ──> route ──> store
//	         └─> session of a client                    ──> acceptor ──┘        └─> line files, standard output, sockets
//
// It imports packages logs, logs/filter, logs/storage, logs/input and logs/linefile. Which protocols and which store there are, the
// program decides that makes it.
package server
