// Package linefile writes records as lines of text, to files, which it rotates, compresses and deletes, and to standard output and
// sockets.
//
// A [Journal] lies before the files: it has what is on its way into them, with the numbers of the clients that have sent it, so that
// each record is in its file once, also after a kill.
//
// It imports package logs; the server decides which records go where.
package linefile
