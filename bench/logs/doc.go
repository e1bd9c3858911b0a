// Package logs compares the server of package logs with rsyslog and syslog-ng, and its searches with those of VictoriaLogs. It contains only tests;
// see the README of bench for how to run them. The packages below it can be used elsewhere as well: load sends and counts messages.
//
// Without MEANWHILE_BENCH_LOGS=full the sizes are small, to test that everything works. rsyslogd is searched for in PATH and in
// /usr/sbin, syslog-ng also in the folder that MEANWHILE_SYSLOG_NG names, into which its packages were unpacked: Debian does not
// allow both to be installed. Servers that are not found are skipped. All servers are started by the tests, listen on loopback
// only, write into a folder that is removed, and are stopped at the end of the test.
package logs
