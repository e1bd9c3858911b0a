// Package logtest holds every [logs.Store] to the same promises, and helps tests of what handles records. Only tests
// import it.
package logtest
