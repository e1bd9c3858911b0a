// Package logwire is the protocol between log clients and the log server: its frames, as docs/logs-protocol.md describes them, a
// reader of frames, and compression. Clients, servers and spools import it. It deals only with bytes and numbers, and imports
// none of our packages.
package logwire
