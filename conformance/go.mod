module github.com/meanwhile-go/meanwhile/conformance

go 1.26.0

require (
	github.com/contribsys/faktory v1.10.0
	github.com/contribsys/faktory_worker_go v1.7.0
)

require (
	github.com/BurntSushi/toml v1.6.0 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/redis/go-redis/v9 v9.22.0 // indirect
	go.uber.org/atomic v1.11.0 // indirect
	golang.org/x/sys v0.30.0 // indirect
)
