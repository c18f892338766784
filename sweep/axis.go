package sweep

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bounds of what one sweep may ask for: beyond them a slip of the pen is more
// likely than a wish.
const (
	mostLevels = 100_000
	mostPoints = 1_000_000
)

// Axis is one setting that varies.
type Axis struct {
	Path   string   // as in --set
	Spec   string   // how its values were asked for
	Levels []Amount // in the order in which they were written
	Range  *Range   // what the levels were made of; nil for a list
}

// Range is a stretch of values.
type Range struct {
	From, To Amount
	Log      bool // evenly spaced in the logarithm
}

// ParseAxis reads PATH=VALUES. The values are a list a,b,c; or a range
// from..to: every whole number, or steps values of anything else; or from..to
// in n: n values evenly; from..to by step; from..to log n: n values evenly in
// the logarithm. Values made so have three significant digits, and more where
// neighbours would be the same; the ends are as written. The last value of by
// is the last that does not exceed the range.
func ParseAxis(text string, steps int) (Axis, error) {
	path, values, ok := strings.Cut(text, "=")
	a := Axis{Path: strings.TrimSpace(path), Spec: strings.TrimSpace(values)}
	fail := func(err error) (Axis, error) { return Axis{}, fmt.Errorf("vary %q: %w", text, err) }
	switch {
	case !ok || a.Path == "":
		return fail(errors.New("expected PATH=VALUES, such as load.rate=50/s..500/s or load.rate=50/s,100/s"))
	case a.Spec == "":
		return fail(errors.New("there are no values: expected a,b,c or from..to"))
	case steps < 2:
		return fail(fmt.Errorf("%d steps: expected at least 2", steps))
	case steps > mostLevels:
		return fail(fmt.Errorf("%d steps: expected at most %d", steps, mostLevels))
	}
	items := splitList(a.Spec)
	seen := map[string]bool{}
	for _, item := range items {
		levels, stretch, err := expand(item, steps)
		if err != nil {
			return fail(err)
		}
		if len(items) == 1 {
			a.Range = stretch
		}
		for _, l := range levels {
			if seen[l.Text] {
				return fail(fmt.Errorf("%s stands there twice", l.Text))
			}
			seen[l.Text] = true
		}
		a.Levels = append(a.Levels, levels...)
	}
	return a, nil
}

// splitList splits at the commas that stand in no brackets and no quotes.
func splitList(text string) []string {
	var items []string
	depth, begin := 0, 0
	var quote byte
	for i := range len(text) {
		switch c := text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		case c == ',' && depth == 0:
			items = append(items, strings.TrimSpace(text[begin:i]))
			begin = i + 1
		}
	}
	return append(items, strings.TrimSpace(text[begin:]))
}

// expand turns one item of a list into its values.
func expand(item string, steps int) ([]Amount, *Range, error) {
	if item == "" {
		return nil, nil, errors.New("a value is empty: write \"\" for an empty text")
	}
	first, rest, isRange := strings.Cut(item, "..")
	from := parseAmount(first)
	if !isRange || from.kind == word { // a text may hold dots
		return []Amount{parseAmount(item)}, nil, nil
	}
	r, how, arg, err := parseRange(from, rest)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", item, err)
	}
	levels, err := r.spaced(how, arg, steps)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", item, err)
	}
	return levels, &r, nil
}

// parseRange reads what comes after from.. and says how to space it.
func parseRange(from Amount, rest string) (r Range, how, arg string, err error) {
	words := strings.Fields(rest)
	if len(words) != 1 && len(words) != 3 {
		return r, "", "", errors.New("expected from..to, from..to in N, from..to by STEP or from..to log N")
	}
	to := parseAmount(words[0])
	if len(words) == 3 {
		how, arg = words[1], words[2]
	}
	from, to = alike(from, to)
	r = Range{From: from, To: to, Log: how == "log"}
	switch {
	case to.kind != from.kind:
		return r, "", "", fmt.Errorf("goes from %v to %v: expected two of a kind", from.kind, to.kind)
	case from.Size >= to.Size:
		return r, "", "", errors.New("does not go up: expected the smaller value first")
	case r.Log && from.Size <= 0:
		return r, "", "", errors.New("a logarithm needs values above 0")
	}
	return r, how, arg, nil
}

// alike writes two ends alike, as far as that changes nothing: 0 is of any
// kind, a whole number is a number, and a rate per minute is one per second.
func alike(a, b Amount) (Amount, Amount) {
	as := func(x, like Amount) Amount {
		switch {
		case x.kind == whole && x.Size == 0 && (like.kind == duration || like.kind == percent):
			x.kind = like.kind
		case x.kind == whole && like.kind == decimal:
			x.kind = decimal
		}
		return x
	}
	a, b = as(a, b), as(b, a)
	if a.kind == rate && b.kind == rate && a.divide != b.divide {
		a.divide, b.divide = "s", "s"
	}
	return a, b
}

// spaced returns the values of a range.
func (r Range) spaced(how, arg string, steps int) ([]Amount, error) {
	count := func() (int, error) {
		n, err := strconv.Atoi(arg)
		if err != nil || n < 2 || n > mostLevels {
			return 0, fmt.Errorf("%q is no number of values: expected a whole number from 2 to %d", arg, mostLevels)
		}
		return n, nil
	}
	switch how {
	case "":
		if r.From.kind == whole {
			return r.by(parseAmount("1"))
		}
		return r.even(steps), nil
	case "in", "log":
		n, err := count()
		if err != nil {
			return nil, err
		}
		return r.even(n), nil
	case "by":
		step, _ := alike(parseAmount(arg), r.From)
		if step.kind != r.From.kind || step.Size <= 0 {
			return nil, fmt.Errorf("a step of %q: expected %v above 0", arg, r.From.kind)
		}
		return r.by(step)
	}
	return nil, fmt.Errorf("%q is no way to space values: expected in, by or log", how)
}

// by returns from, from+step and so on.
func (r Range) by(step Amount) ([]Amount, error) {
	n := math.Floor((r.To.Size-r.From.Size)/step.Size+1e-9) + 1
	if n > mostLevels {
		return nil, fmt.Errorf("%.0f values: expected at most %d", n, mostLevels)
	}
	levels := make([]Amount, int(n))
	for i := range levels {
		levels[i] = r.From.like(r.From.Size+float64(i)*step.Size, 12) // 12 digits drop what binary fractions leave behind
	}
	levels[0] = r.From
	if last := &levels[len(levels)-1]; last.Size == r.To.Size {
		*last = r.To
	}
	return levels, nil
}

// even returns n values between the ends, which are among them. Whole numbers
// that fall together are left out.
func (r Range) even(n int) []Amount {
	for digits := 3; ; digits++ {
		levels := []Amount{r.From}
		distinct := true
		for i := 1; i < n-1; i++ {
			a := r.From.like(r.at(float64(i)/float64(n-1)), digits)
			if a.Size <= levels[len(levels)-1].Size || a.Size >= r.To.Size {
				distinct = false
				continue
			}
			levels = append(levels, a)
		}
		if distinct || r.From.kind == whole || digits >= 15 {
			return append(levels, r.To)
		}
	}
}

// at returns the size at a share of the way through the range.
func (r Range) at(share float64) float64 {
	if r.Log {
		return r.From.Size * math.Pow(r.To.Size/r.From.Size, share)
	}
	return r.From.Size + share*(r.To.Size-r.From.Size)
}

// within returns the value at a share of the way through the range, with
// digits enough to tell n such values apart.
func (r Range) within(share float64, n int) Amount {
	digits := 3
	if width := (r.To.Size - r.From.Size) / float64(n); width > 0 {
		need := 1 + int(math.Ceil(math.Log10(max(math.Abs(r.From.Size), math.Abs(r.To.Size))/width)))
		digits = min(max(digits, need), 15)
	}
	a := r.From.like(r.at(share), digits)
	if a.Size < r.From.Size { // rounded out of the range
		return r.From
	}
	if a.Size > r.To.Size {
		return r.To
	}
	return a
}

// numeric reports whether every level has a size, so that they can stand on an
// axis, and the unit of those.
func (a *Axis) numeric() (unit string, ok bool) {
	k := a.Levels[0].kind
	for _, l := range a.Levels {
		mixed := l.kind != k && !(isNumber(l.kind) && isNumber(k))
		if l.kind == word || mixed {
			return "", false
		}
	}
	return k.unit(), true
}

func isNumber(k kind) bool { return k == whole || k == decimal }
