// Package logtest tests the contract of [storage.Store] on every store, and helps to test code that handles records. Only tests
// import it.
package logtest
