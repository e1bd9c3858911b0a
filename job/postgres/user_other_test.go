//go:build !unix

package postgres_test

import "syscall"

func runAs(uid, gid int) *syscall.SysProcAttr { return nil }
