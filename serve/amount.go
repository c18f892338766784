package serve

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// amount is how the value of a setting is written and turned.
type amount struct {
	parse  func(text string) (v float64, ok bool)
	format func(v float64) string
	like   string // how one is written, for a message
}

var digits = regexp.MustCompile(`^\d{1,12}(\.\d{1,9})?$`)

func parseNumber(text string) (float64, bool) {
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil && digits.MatchString(text)
}

func formatNumber(v float64) string { return strconv.FormatFloat(math.Round(v*1e9)/1e9, 'f', -1, 64) }

// suffixed is an amount with a fixed end: that of a rate, or of a share.
func suffixed(end, like string) amount {
	return amount{
		parse: func(text string) (float64, bool) {
			head, ok := strings.CutSuffix(text, end)
			v, number := parseNumber(head)
			return v, ok && number
		},
		format: func(v float64) string { return formatNumber(v) + end },
		like:   like,
	}
}

var (
	number = amount{parseNumber, formatNumber, "a number such as 0.5"}
	whole  = amount{
		parse: func(text string) (float64, bool) {
			v, ok := parseNumber(text)
			return v, ok && !strings.Contains(text, ".")
		},
		format: formatNumber,
		like:   "a whole number",
	}
	duration = amount{
		parse: func(text string) (float64, bool) {
			d, err := time.ParseDuration(text)
			return float64(d), err == nil && d >= 0 && len(text) < 40
		},
		format: func(v float64) string { return formatDuration(time.Duration(v)) },
		like:   "a duration such as 50ms",
	}
)

// formatDuration writes a duration as people do: 1m, not 1m0s.
func formatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// amountOf says how a setting is written, from what kind of value it takes (as
// [study.Explain] tells it) and what stands there. Not every setting is one that can be turned.
func amountOf(kind string, now *value) (a amount, ok bool) {
	switch {
	case strings.HasPrefix(kind, "a duration"):
		a = duration
	case strings.HasPrefix(kind, "a rate"):
		_, per, cut := strings.Cut(now.text, "/")
		if !cut {
			return a, false
		}
		a = suffixed("/"+per, "a rate such as 100/"+per)
	case strings.HasPrefix(kind, "a share") && strings.HasSuffix(now.text, "%"):
		a = suffixed("%", "a share such as 20%")
	case strings.HasPrefix(kind, "a whole number"):
		a = whole
	case kind == "a number":
		a = number
	default:
		return a, false
	}
	_, ok = a.parse(now.text)
	return a, ok
}

// series are round numbers: so many to a power of ten.
var series = []float64{1, 1.5, 2, 3, 4, 5, 7}

// times are round durations from ten seconds on.
var times = []time.Duration{
	10 * time.Second, 15 * time.Second, 20 * time.Second, 30 * time.Second, 45 * time.Second, time.Minute, 90 * time.Second,
	2 * time.Minute, 3 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour,
}

// round lists round numbers from least to most.
func round(least, most float64) (list []float64) {
	if least <= 0 || most < least {
		return nil
	}
	for power := math.Pow10(int(math.Floor(math.Log10(least)))); power <= most; power *= 10 {
		for _, m := range series {
			if v := m * power; v >= least*(1-1e-9) && v <= most*(1+1e-9) {
				list = append(list, v)
			}
		}
	}
	return list
}

// steps lists the values that a slider for a setting has: round ones around the
// one that stands there, and that one. name is the setting's last.
func (a *amount) steps(name, now string) (texts []string, at int) {
	v, _ := a.parse(now)
	var list []float64
	switch {
	case a.like == duration.like && v == 0:
		list = append(round(1e6, 7e9), 0)
	case a.like == duration.like:
		list = round(max(v/50, 1e3), min(v*50, 7e9))
		for _, d := range times {
			if float64(d) >= v/50 && float64(d) <= v*50 {
				list = append(list, float64(d))
			}
		}
	case a.like == number.like && (strings.HasSuffix(name, "ratio") || name == "smoothing"), strings.HasSuffix(now, "%"):
		unit := 1.0
		if strings.HasSuffix(now, "%") {
			unit = 100
		}
		for i := range 21 {
			list = append(list, float64(i)*unit/20)
		}
	case a.like == number.like:
		list = round(v/10, v*10)
	case a.like == whole.like && v <= 10:
		for i := range 21 {
			list = append(list, float64(i))
		}
		if v > 0 && name != "queue" && name != "extra" {
			list = list[1:]
		}
	default: // rates, and what there is much of
		list = round(max(v/20, 1), v*20)
		list = slices.DeleteFunc(list, func(v float64) bool { return v != math.Trunc(v) })
	}
	list = append(list, v)
	slices.Sort(list)
	list = slices.CompactFunc(list, func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) })
	for i, x := range list {
		text := a.format(x)
		if math.Abs(x-v) <= 1e-9*math.Abs(v) {
			text, at = now, i
		}
		texts = append(texts, text)
	}
	return texts, at
}

// check says what is wrong with a value for a setting with such steps; nil for
// nothing.
func (a *amount) check(text string, steps []string) error {
	v, ok := a.parse(text)
	if !ok {
		return fmt.Errorf("%q: expected %s", clip(text), a.like)
	}
	least, _ := a.parse(steps[0])
	most, _ := a.parse(steps[len(steps)-1])
	if v < least || v > most {
		return fmt.Errorf("%q: expected %s to %s", clip(text), steps[0], steps[len(steps)-1])
	}
	return nil
}

// clip shortens what somebody sent, for a message.
func clip(text string) string {
	const most = 60
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}
