package chart

// outlines are the marks of points: closed shapes around the origin, of
// about the same area. Those of open are strokes.
var (
	outlines = [][][2]float64{
		nil, // a circle
		{{-3.4, -3.4}, {3.4, -3.4}, {3.4, 3.4}, {-3.4, 3.4}},
		{{0, -4.8}, {4.4, 3.2}, {-4.4, 3.2}},
		{{0, -5}, {5, 0}, {0, 5}, {-5, 0}},
		{{0, 4.8}, {4.4, -3.2}, {-4.4, -3.2}},
	}
	circle = 3.8
)

// mark draws the mark of a look at a point, by a factor of its usual size.
// A name becomes its tooltip.
func (c *canvas) mark(x, y float64, l look, factor float64, extraClass, name string) {
	classes := "mark " + l.class()
	if extraClass != "" {
		classes = "mark " + extraClass
	}
	shape := outlines[int(l)%len(outlines)]
	end := "/>\n"
	tag := "circle"
	if shape != nil {
		tag = "path"
	}
	if name != "" {
		end = "><title>" + escaped(name) + "</title></" + tag + ">\n"
	}
	if shape == nil {
		c.raw(`<circle class="`, classes, `" cx="`, px(x), `" cy="`, px(y), `" r="`, px(circle*factor), `"`, end)
		return
	}
	var p pen
	for _, corner := range shape {
		p.to(x+corner[0]*factor, y+corner[1]*factor)
	}
	p.close()
	c.raw(`<path class="`, classes, `" d="`, p.String(), `"`, end)
}

// hatch fills a rectangle with slanting lines: nothing is known here.
func (c *canvas) hatch(x, y, w, h float64, tip string) {
	const gap = 5
	c.rect(x, y, w, h, tip, class("shade"))
	var p pen
	for d := gap / 2.0; d < w+h; d += gap {
		// The line on which the distances from the top left add up to d.
		p.to(x+min(d, w), y+max(0, d-w))
		p.to(x+max(0, d-h), y+min(d, h))
		p.lift()
	}
	c.path("axis", p.String())
}

// key is an entry of a legend.
type key struct {
	name string
	draw func(x, y float64) // its sample, around the middle y, from x on
	room float64            // how wide the sample is
}

// legend writes keys in lines that break where the next key has no room.
func (c *canvas) legend(keys []key) {
	if len(keys) == 0 {
		return
	}
	const gap, between = 6, 18
	x := float64(margin)
	c.y += 6
	for _, k := range keys {
		name := shorten(k.name, normal, Width-2*margin-k.room-gap)
		w := k.room + gap + width(name, normal)
		if x > margin && x+w > Width-margin {
			x = margin
			c.y += 18
		}
		k.draw(x, c.y)
		c.text(x+k.room+gap, c.y+4, "", name)
		x += w + between
	}
	c.y += 14
}
