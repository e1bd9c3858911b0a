// Package dash measures the cost of open dashboards: for a worker, in bytes sent, and in memory of their server. It contains only
// tests; see the README of bench for how to run them.
package dash
