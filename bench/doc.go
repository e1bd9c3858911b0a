// Package bench compares meanwhile with other libraries. It contains only tests; see README.md for how to run them.
package bench
