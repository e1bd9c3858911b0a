// Package logs compares the server of package logs with rsyslog and syslog-ng, and its searches with those of VictoriaLogs. It has nothing but tests; the README of bench
// says how to run them. The packages below it are of use to others as well: load sends and counts messages.
//
// Without MEANWHILE_BENCH_LOGS=full the sizes are small, to see that everything runs. rsyslogd is looked for in PATH and in
// /usr/sbin, syslog-ng in the folder that MEANWHILE_SYSLOG_NG names as well, into which its packages were unpacked: Debian
// does not let both be installed. What is not there is left out. All servers are started by the tests, listen on loopback
// alone, write into a folder that is removed, and end with the test.
package logs
