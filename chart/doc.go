// Package chart draws line charts, heat maps, scatter plots, bars, differences,
// waterfalls, and panels of areas, densities and lines over one axis, as SVG text: no
// scripts, no fonts, nothing from outside, no ids that could clash when many
// charts stand in one page.
//
// It draws what it is given. It does not smooth, average or extrapolate: a
// number that is absent (NaN) or infinite is a gap, a hatched cell or a bar
// without a length, and the caption says how many there are. Of more than
// fits on paper it draws a part that looks the same, or says which part.
//
// Each line has a dash and a marker besides its colour, each area a pattern, and
// heat goes from light to dark in one hue, so that a chart reads in grey and
// with any eyes. It follows the reader's dark or light scheme on a screen, and is light
// on paper. It is [Width] wide and as high as it needs to be.
//
// Numbers are plain and in the unit that the axis names; [Milliseconds] are
// written as seconds where these read better. The text of a chart is a function
// of its fields alone. Charts may be drawn from any goroutine.
//
//	svg := chart.Lines{
//		Title:  "Goodput over offered load",
//		X:      chart.Axis{Title: "offered load", Unit: "requests/s"},
//		Y:      chart.Axis{Title: "completed/offered", Include: []float64{0, 1}},
//		Series: []chart.Series{{Name: "retry", Points: points}},
//	}.SVG()
package chart
