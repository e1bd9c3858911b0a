// Package harm has what the fault programs use to break things and to clean up: processes that are restarted, a proxy that cuts and holds up
// connections, a disk that can be filled, clocks that jump, and a guard that cleans up even when the program is killed.
package harm
