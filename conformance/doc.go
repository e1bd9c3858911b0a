// Package conformance holds the server for clients of Faktory against the original: one suite on the wire is run with both, and
// programs with the clients that people use are run with ours. It is a module of its own, whose dependencies have other licenses
// than meanwhile: they are built and run as programs, and nothing of meanwhile is linked with them.
package conformance
