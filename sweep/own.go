package sweep

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"brunt/study"
)

// ownRange returns the range from a tenth to ten times of what a study says of
// a setting, evenly in the logarithm.
func ownRange(s *study.Study, path string) (Range, error) {
	var config any
	if err := json.Unmarshal(s.Config(), &config); err != nil {
		return Range{}, fmt.Errorf("look up %s: %w", path, err)
	}
	found := map[string]bool{}
	for _, v := range lookUp(config, strings.Split(path, ".")) {
		switch x := v.(type) {
		case string:
			found[x] = true
		case float64:
			found[strconv.FormatFloat(x, 'f', -1, 64)] = true
		default:
			return Range{}, fmt.Errorf("%s is no single value: give the path of one", path)
		}
	}
	give := fmt.Sprintf("give a range, such as %s=FROM..TO", path)
	switch len(found) {
	case 0:
		return Range{}, fmt.Errorf("the study says nothing of %s: %s", path, give)
	case 1:
	default:
		return Range{}, fmt.Errorf("%s stands for %s: %s", path, strings.Join(slices.Sorted(maps.Keys(found)), " and "), give)
	}
	own := parseAmount(slices.Collect(maps.Keys(found))[0])
	if own.kind == word || own.Size <= 0 {
		return Range{}, fmt.Errorf("%s is %s, which has no tenth: %s", path, own.Text, give)
	}
	r := Range{From: own.like(own.Size/10, 12), To: own.like(own.Size*10, 12), Log: true}
	switch own.kind {
	case whole:
		r.From = own.like(max(1, own.Size/10), 12)
	case percent:
		r.To = own.like(min(100, own.Size*10), 12)
	}
	if r.From.Size >= r.To.Size {
		return Range{}, fmt.Errorf("%s is %s: %s", path, own.Text, give)
	}
	return r, nil
}

// lookUp follows the steps of a path as --set does, in what the study reads as.
func lookUp(at any, steps []string) []any {
	if len(steps) == 0 {
		return []any{at}
	}
	var all []any
	switch x := at.(type) {
	case map[string]any:
		if steps[0] == "*" {
			for _, name := range slices.Sorted(maps.Keys(x)) {
				all = append(all, lookUp(x[name], steps[1:])...)
			}
			return all
		}
		for k := 1; k <= len(steps); k++ { // a name may hold dots
			if v, ok := x[strings.Join(steps[:k], ".")]; ok {
				return lookUp(v, steps[k:])
			}
		}
	case []any:
		for i, v := range x {
			stage, _ := v.(map[string]any)
			_, isStage := stage[steps[0]]
			switch {
			case steps[0] == "*" || steps[0] == strconv.Itoa(i) || stage["name"] == steps[0]:
				all = append(all, lookUp(v, steps[1:])...)
			case isStage:
				all = append(all, lookUp(v, steps)...)
			}
		}
	}
	return all
}
