// Package linefile writes records as lines of text, to files, which it rotates, compresses and deletes, and to standard output and
// sockets.
//
// A [Journal] has the lines that are being written to files, with the numbers of the clients that have sent them, so that each record is
// in its file once, also after a kill.
//
// It imports package logs; the server decides which records go where.
package linefile
