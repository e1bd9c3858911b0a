//go:build unix

package postgres_test

import "syscall"

// runAs returns the attributes of a process that runs as another user.
func runAs(uid, gid int) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
}
