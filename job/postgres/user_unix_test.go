//go:build unix

package postgres_test

import "syscall"

// runAs has a process be one of another user.
func runAs(uid, gid int) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
}
