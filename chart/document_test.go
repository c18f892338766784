package chart

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// document is a chart as a reader of XML sees it.
type document struct {
	width, height float64
	title, desc   string
	texts         []label
	paths         []shape
	rects         int
}

// label is a line of text with the box that it takes at most.
type label struct {
	text    string
	box     box
	slanted bool
}

// shape is a path by its class and its corners, one list a stroke.
type shape struct {
	class   string
	strokes [][][2]float64
}

// read parses a chart, and is strict about everything that the package
// promises of all charts. Its errors say what is broken.
func read(svg string) (*document, error) {
	for _, foreign := range []string{"<script", "href", "url(", "@import", "@font-face", " id=", "<image", "<foreignObject"} {
		if strings.Contains(markup(svg), foreign) {
			return nil, fmt.Errorf("%s in the chart", foreign)
		}
	}
	d := &document{}
	decoder := xml.NewDecoder(strings.NewReader(svg))
	depth := 0
	var path []string
	var attributes map[string]string
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("not well-formed: %w", err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			depth++
			path = append(path, token.Name.Local)
			attributes = map[string]string{}
			for _, a := range token.Attr {
				attributes[a.Name.Local] = a.Value
			}
			if err := d.element(strings.Join(path, "/"), attributes); err != nil {
				return nil, fmt.Errorf("%s %v: %w", token.Name.Local, attributes, err)
			}
		case xml.EndElement:
			path = path[:len(path)-1]
		case xml.CharData:
			d.chars(strings.Join(path, "/"), attributes, string(token))
		}
	}
	if d.title == "" || d.desc == "" {
		return nil, errors.New("no title or no description")
	}
	return d, d.inside()
}

// markup is a chart without the text that its caller gave.
func markup(svg string) string {
	var b strings.Builder
	for _, part := range strings.SplitAfter(svg, "<") {
		tag, _, _ := strings.Cut(part, ">")
		if _, rest, ok := strings.Cut(tag, `aria-label="`); ok {
			_, tag, _ = strings.Cut(rest, `"`)
		}
		b.WriteString(tag + ">")
	}
	_, sheet, _ := strings.Cut(svg, "<style>")
	sheet, _, _ = strings.Cut(sheet, "</style>")
	return b.String() + sheet
}

func (d *document) element(path string, attributes map[string]string) error {
	number := func(name string) (v float64) {
		v, err := strconv.ParseFloat(attributes[name], 64)
		if err != nil {
			return -1 // outside
		}
		return v
	}
	// What can be zoomed stands where it would without.
	path = strings.Replace(strings.Replace(path, "svg/svg/", "svg/", 1), "svg/g/", "svg/", 1)
	switch path {
	case "svg":
		d.width, d.height = number("width"), number("height")
		if attributes["role"] != "img" || attributes["aria-label"] == "" {
			return errors.New("not an image with a name")
		}
		if want := fmt.Sprintf("0 0 %v %v", d.width, d.height); attributes["viewBox"] != want || d.width != Width {
			return fmt.Errorf("view box is not %s", want)
		}
	case "svg/rect":
		d.rects++
		x, y, w, h := number("x"), number("y"), number("width"), number("height")
		return d.holds(x, y, x+w, y+h, w, h)
	case "svg/circle":
		x, y, r := number("cx"), number("cy"), number("r")
		return d.holds(x-r, y-r, x+r, y+r)
	case "svg/text":
		return d.holds(number("x"), number("y"))
	case "svg/path":
		s, err := strokes(attributes["d"])
		if err != nil {
			return err
		}
		d.paths = append(d.paths, shape{attributes["class"], s})
		for _, stroke := range s {
			for _, corner := range stroke {
				if err := d.holds(corner[0], corner[1]); err != nil {
					return err
				}
			}
		}
	case "svg/svg":
		x, y, w, h := number("x"), number("y"), number("width"), number("height")
		if box := strings.Join([]string{attributes["x"], attributes["y"], attributes["width"], attributes["height"]}, " "); box != attributes["viewBox"] {
			return fmt.Errorf("view box is not %s", box)
		}
		return d.holds(x, y, x+w, y+h, w, h)
	case "svg/title", "svg/desc", "svg/style", "svg/rect/title", "svg/circle/title", "svg/path/title", "svg/g":
	default:
		return errors.New("not an element of ours")
	}
	return nil
}

// holds takes x and y in turns.
func (d *document) holds(coordinates ...float64) error {
	for i, v := range coordinates {
		limit := d.width
		if i%2 == 1 {
			limit = d.height
		}
		if !(v >= 0 && v <= limit+0.05) {
			return fmt.Errorf("%v is outside of 0 to %v", v, limit)
		}
	}
	return nil
}

func (d *document) chars(path string, attributes map[string]string, s string) {
	path = strings.Replace(path, "svg/g/", "svg/", 1)
	switch path {
	case "svg/title":
		d.title += s
	case "svg/desc":
		d.desc += s
	case "svg/text":
		var x, y float64
		fmt.Sscan(attributes["x"], &x)
		fmt.Sscan(attributes["y"], &y)
		classes := " " + attributes["class"] + " "
		if strings.Contains(classes, " spare ") {
			return // it is not seen
		}
		size := normal
		if strings.Contains(classes, " small ") {
			size = little
		} else if strings.Contains(classes, " name ") {
			size = large
		}
		if _, style, ok := strings.Cut(attributes["style"], "font-size:"); ok {
			fmt.Sscan(strings.TrimSuffix(strings.Split(style, ";")[0], "px"), &size)
		}
		w := width(s, size)
		if strings.Contains(classes, " end ") {
			x -= w
		} else if strings.Contains(classes, " mid ") {
			x -= w / 2
		}
		d.texts = append(d.texts, label{s, box{x, y - 0.72*size, x + w, y}, attributes["transform"] != ""})
	}
}

// inside checks that lines of text are within the chart and that none is
// written over another.
func (d *document) inside() error {
	for i, t := range d.texts {
		if t.slanted {
			continue
		}
		if t.box.x0 < -0.1 || t.box.x1 > d.width+0.1 || t.box.y1 > d.height {
			return fmt.Errorf("%q at %v leaves the chart", t.text, t.box)
		}
		for _, o := range d.texts[:i] {
			if !o.slanted && o.box.meets(t.box) {
				return fmt.Errorf("%q at %v stands on %q at %v", t.text, t.box, o.text, o.box)
			}
		}
	}
	return nil
}

// strokes reads the path data that this package writes: M, L, H, V and Z with
// absolute numbers, h, v and z for boxes.
func strokes(data string) ([][][2]float64, error) {
	var all [][][2]float64
	for len(data) > 0 {
		command := data[0]
		rest := data[1:]
		end := strings.IndexAny(rest, "MLHVhvzZ")
		if end < 0 {
			end = len(rest)
		}
		data = rest[end:]
		var corner [2]float64
		switch command {
		case 'Z', 'z':
			continue
		case 'H', 'V', 'h', 'v':
			v, err := strconv.ParseFloat(rest[:end], 64)
			if err != nil || len(all) == 0 {
				return nil, fmt.Errorf("%c%s in a path", command, rest[:end])
			}
			stroke := &all[len(all)-1]
			corner = (*stroke)[len(*stroke)-1]
			axis := 0
			if command == 'V' || command == 'v' {
				axis = 1
			}
			if command == 'h' || command == 'v' {
				v += corner[axis]
			}
			corner[axis] = v
			*stroke = append(*stroke, corner)
			continue
		case 'M':
			all = append(all, nil)
		case 'L':
			if len(all) == 0 {
				return nil, errors.New("a line from nowhere")
			}
		default:
			return nil, fmt.Errorf("%q in a path", command)
		}
		for i, s := range strings.Split(rest[:end], " ") {
			v, err := strconv.ParseFloat(s, 64)
			if err != nil || i > 1 {
				return nil, fmt.Errorf("%q in a path", rest[:end])
			}
			corner[i] = v
		}
		all[len(all)-1] = append(all[len(all)-1], corner)
	}
	return all, nil
}
