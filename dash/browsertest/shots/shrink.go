package main

import (
	"bytes"
	"cmp"
	"image"
	"image/color"
	"image/png"
	"maps"
	"slices"
)

// mostCommon of the 256 colors are the most common ones of a picture; the others are those that differ most from all of these, so that a red number
// stays red.
const mostCommon = 200

// shrink redraws a PNG with 256 colors, which reduces it to a third of its size.
func shrink(drawn []byte) ([]byte, error) {
	picture, err := png.Decode(bytes.NewReader(drawn))
	if err != nil {
		return nil, err
	}
	bounds := picture.Bounds()
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(picture.At(x, y)).(color.RGBA) }
	seen := map[color.RGBA]int{}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			seen[at(x, y)]++
		}
	}
	common := slices.SortedFunc(maps.Keys(seen), func(a, b color.RGBA) int {
		return cmp.Or(seen[b]-seen[a], int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B))
	})
	var palette color.Palette
	for _, c := range common[:min(mostCommon, len(common))] {
		palette = append(palette, c)
	}
	rest := common[len(palette):]
	away := make([]int, len(rest)) // distance of each color to the palette
	for i, c := range rest {
		away[i] = distance(c, palette[palette.Index(c)].(color.RGBA))
	}
	for len(palette) < 256 && len(rest) > 0 {
		i := slices.Index(away, slices.Max(away))
		if away[i] == 0 {
			break
		}
		next := rest[i]
		palette = append(palette, next)
		for k, c := range rest {
			away[k] = min(away[k], distance(c, next))
		}
	}
	nearest := map[color.RGBA]uint8{}
	for c := range seen {
		nearest[c] = uint8(palette.Index(c))
	}
	small := image.NewPaletted(bounds, palette)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			small.SetColorIndex(x, y, nearest[at(x, y)])
		}
	}
	var out bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, small)
	return out.Bytes(), err
}

func distance(a, b color.RGBA) int {
	r, g, bl := int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B)
	return r*r + g*g + bl*bl
}
