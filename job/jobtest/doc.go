// Package jobtest helps to test programs that use jobs, and implementations of [job.Store].
//
// For programs with jobs: [Run] runs one attempt of a job without a store; [Drain] runs the due jobs of a store, and [DrainFor]
// also the jobs that become due within a given time, even days: in milliseconds if the test runs in testing/synctest on
// job/memory; [AssertEnqueued] and [RequireEnqueued] find a job that was enqueued; [Faulty] makes calls of a store fail.
//
// For stores: [TestStore] tests the contract of [job.Store].
package jobtest
