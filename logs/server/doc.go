// Package server collects records: it listens, receives them from clients of package logs and from other inputs, redacts, limits
// and counts them, and sends them where its routes say.
//
//	listener ──> connection, with the parser of its input ──> batcher ──> route ──> store
//	         └─> session of a client                    ──> acceptor ──┘        └─> line files, standard output, sockets
//
// It imports packages logs, logs/filter, logs/storage, logs/input and logs/linefile. The program that creates a server decides
// which protocols and which store it has.
package server
