//go:build gc && go1.26 && !go1.28 && !meanwhile_nolinkname

// The linker finds the functions of linked.go in the runtime. With this file the compiler accepts them without a body.
