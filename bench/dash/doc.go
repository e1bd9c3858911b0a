// Package dash measures what open dashboards cost: a worker, the wire, and the memory of their server. It has nothing but tests; the
// README of bench says how to run them.
package dash
