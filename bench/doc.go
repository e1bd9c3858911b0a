// Package bench compares meanwhile with other libraries. It has nothing but tests; README.md says how to run them.
package bench
