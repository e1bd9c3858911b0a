//go:build !unix

package server

func (c *connection) prepare() {}
