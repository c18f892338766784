package chart

import (
	"fmt"
	"math"
)

// ramp is one blue from light to dark, in steps of the same lightness in the
// OKLab space (B. Ottosson, "A perceptual color space for image processing",
// 2020), with nearly all the colour that a screen has at each: hue 250
// degrees, lightness 0.965 to 0.260.
var ramp = [][3]int{
	{0xec, 0xf5, 0xfe}, {0xbb, 0xda, 0xfb}, {0x87, 0xbf, 0xf9}, {0x5e, 0xa3, 0xe9}, {0x43, 0x88, 0xcb},
	{0x26, 0x6d, 0xae}, {0x11, 0x54, 0x8d}, {0x0a, 0x3c, 0x67}, {0x04, 0x25, 0x43},
}

// shadeOf is the colour of a share of the scale, 0 to 1.
func shadeOf(share float64) [3]int {
	// In whole numbers, so that no machine rounds another way.
	const fine = 1000
	last := len(ramp) - 1
	at := int(math.Round(share * float64(last*fine)))
	i := min(at/fine, last-1)
	rest := at - i*fine
	var c [3]int
	for k := range c {
		c[k] = (ramp[i][k]*(fine-rest) + ramp[i+1][k]*rest + fine/2) / fine
	}
	return c
}

func hex(c [3]int) string { return fmt.Sprintf("#%02x%02x%02x", c[0], c[1], c[2]) }

// inkOn is the colour of text that is easier to read on a colour: black or
// white.
func inkOn(c [3]int) string {
	if contrast(c, [3]int{}) >= contrast(c, [3]int{255, 255, 255}) {
		return "#000000"
	}
	return "#ffffff"
}

// contrast is the contrast ratio of WCAG 2.1 (1.4.3): 1 to 21.
func contrast(a, b [3]int) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// luminance is the relative luminance of WCAG 2.1: 0 to 1.
func luminance(c [3]int) float64 {
	return 0.2126*linear(c[0]) + 0.7152*linear(c[1]) + 0.0722*linear(c[2])
}

// linear undoes the gamma of sRGB.
func linear(channel int) float64 {
	v := float64(channel) / 255
	if v <= 0.04045 {
		return v / 12.92
	}
	return math.Pow((v+0.055)/1.055, 2.4)
}
