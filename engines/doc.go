// Package engines tests the outputs and inputs of logs against the servers and clients that they are made for, which run in separate processes. It
// has only tests, and is a separate module so that the dependencies of those servers do not become ours.
package engines
