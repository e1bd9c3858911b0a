// Package redis keeps jobs in Redis, version 6.2 or newer, or in Valkey.
//
// A store is named by a URL:
//
//	redis://user:password@host:6379/0?name=app
//	redis+sentinel://host1,host2/0?master=NAME     the primary that Sentinels name
//	redis+cluster://host1,host2                    a cluster, of which a store uses one node
//	unix:///run/redis.sock?db=0                    a socket
//
// The user and password are those of the primary; sentinel_username and sentinel_password are for Sentinels that have a password, too.
//
// With rediss, rediss+sentinel and rediss+cluster, all connections use TLS.
//
// All keys begin with the name in braces; it is "meanwhile" unless the URL has one. With durable=no the store also accepts a server
// without an append-only file (AOF), which loses jobs when it is restarted.
//
// Each call is a script that the server runs atomically. Redis has no transaction that a call could be part of: enqueue after you have
// committed your data.
//
// A call without a deadline gets one of 30 seconds.
package redis
