// Package conformance tests the server for clients of Faktory against the original: one test suite of the protocol runs with
// both, and programs with widely used clients run with ours. It is a separate module, since its dependencies have other licenses
// than meanwhile: they are built and run as programs, and nothing of meanwhile is linked with them.
package conformance
