// Package logtest holds every [storage.Store] to the same promises, and helps tests of what handles records. Only tests
// import it.
package logtest
