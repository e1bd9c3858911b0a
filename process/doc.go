// Package process is for func main, and shuts a program down gracefully: [Main] runs a function as the scope of the whole
// process, cancels it at a signal, gives it a grace period to end, prints the tasks that do not end, and chooses the exit
// code. [OnSignal] handles other signals in a task, and [AtExit] registers functions to call last. [SetMaxBlocking] sets a
// limit for the whole process.
//
// It imports packages meanwhile and inspect, and internal/scope.
package process
