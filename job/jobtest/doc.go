// Package jobtest helps to test programs that use jobs, and the stores that keep jobs.
//
// For programs with jobs: [Run] runs one attempt of a job by itself; [Drain] runs what is due in a store, and [DrainFor] what
// becomes due within days, in milliseconds if the test runs in testing/synctest on job/memory; [AssertEnqueued] and
// [RequireEnqueued] look for a job; [Faulty] makes calls of a store fail.
//
// For stores: [TestStore] tests the contract of [job.Store].
package jobtest
