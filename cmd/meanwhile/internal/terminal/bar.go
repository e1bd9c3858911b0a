package terminal

import "strings"

// Bar draws a share from 0 to 1 as a bar of width columns. With ground, the rest of the width is drawn, too.
func Bar(share float64, width int, blocks, ground bool) string {
	share = max(0, min(1, share))
	if !blocks {
		full := int(share*float64(width) + 0.5)
		if share > 0 {
			full = max(1, full)
		}
		if !ground {
			return strings.Repeat("#", full)
		}
		return strings.Repeat("#", full) + strings.Repeat(".", width-full)
	}
	eighths := int(share*float64(width)*8 + 0.5)
	if share > 0 {
		eighths = max(1, eighths)
	}
	bar := strings.Repeat("█", eighths/8)
	used := eighths / 8
	if rest := eighths % 8; rest > 0 {
		bar += string([]rune("▏▎▍▌▋▊▉")[rest-1])
		used++
	}
	if ground {
		bar += strings.Repeat("░", width-used)
	}
	return bar
}
