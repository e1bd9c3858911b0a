package scope

import "context"

// From returns the task that ctx carries, or nil.
func From(ctx context.Context) *Node {
	if n, ok := ctx.(*Node); ok {
		return n
	}
	return fromOther(ctx)
}

// fromOther returns the task that a context of another package carries, or nil.
func fromOther(ctx context.Context) *Node {
	mustNotBeNil(ctx)
	n, _ := ctx.Value(&nodeKey).(*Node)
	return n
}

// mustNotBeNil panics with an explanation if ctx is nil: a call of one of its methods would panic without one.
func mustNotBeNil(ctx context.Context) {
	if ctx == nil {
		panic("meanwhile: a nil ctx: pass the ctx that your function was given, or context.Background() where there is none")
	}
}
