//go:build !unix

package logs

func (c *connection) prepare() {}
