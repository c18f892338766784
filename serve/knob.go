package serve

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"brunt/study"
)

// knob is a setting that a slider turns.
type knob struct {
	path  string // of --set
	group string // what it is about
	label string // what it is there
	about string // what it means
	amount
	now   string   // as the study has it
	texts []string // of the slider, in order
	at    int      // where now is among them
	seat  string   // in its stack, of one composition
	apart []*knob  // those that it stands for together
}

// mostKnobs bounds a page. What a study has first comes first.
const mostKnobs = 150

// unturned are settings that do nothing in a simulation, or nothing to look at.
var unturned = []string{"cost", "wire", "dispatch_noise", "number", "max_tokens"}

// knobsOf lists the settings of a study that can be turned: its load, its
// dependencies, its phases and its policies. Each has been tried: --set finds it, and
// setting it to what it is leaves the study as it is.
func knobsOf(f source, s *study.Study) ([]*knob, error) {
	config, err := parseConfig(s.Config())
	if err != nil {
		return nil, err
	}
	var c knobs
	c.within("load", "load", "load", "Load", config.get("load"))
	for _, name := range []string{"horizon", "callers", "seed"} {
		c.within(name, name, name, "Load", config.get(name))
	}
	c.compositions(config.get("compositions"))
	for _, kind := range []string{"dependencies", "services"} {
		for _, d := range config.get(kind).fields {
			c.within(kind+"."+d.name, kind, "", "What is called: "+d.name, d.value)
		}
	}
	phases := config.get("phases").list
	for i, p := range phases {
		step := p.get("name").text
		if slices.ContainsFunc(phases[:i], func(q *value) bool { return q.get("name").text == step }) {
			step = strconv.Itoa(i)
		}
		c.within("phases."+step, "phases", "", "Phase "+p.get("name").text, p)
	}
	return grouped(tried(f, s, c.all[:min(len(c.all), mostKnobs)])), nil
}

// grouped brings together what is of one group, in the order in which the groups
// come: stacks that have been taken apart stand among those of all.
func grouped(all []*knob) (list []*knob) {
	groups := []string{"Load", everyStack}
	for _, k := range all {
		if !slices.Contains(groups, k.group) {
			groups = append(groups, k.group)
		}
	}
	for _, group := range groups {
		for _, k := range all {
			if k.group == group {
				list = append(list, k)
			}
		}
	}
	return list
}

// everyStack is the group of what several stacks have, and are turned by together.
const everyStack = "Every stack"

// knobs collects them.
type knobs struct{ all []*knob }

// within adds what can be turned at a place and below. path is that of --set,
// meaning that of brunt explain, without names; label is how the place is called in
// its group.
func (c *knobs) within(path, meaning, label, group string, v *value) {
	if v.get("kind").text == "none" { // what else stands there is not in force
		return
	}
	for _, f := range v.fields {
		if slices.Contains(unturned, f.name) {
			continue
		}
		if meaning == "phases" && f.name == "dependencies" {
			for _, d := range f.fields {
				c.within(path+".dependencies."+d.name, "phases.dependencies", d.name, group, d.value)
			}
			continue
		}
		if f.name == "stack" {
			c.stack(path+".stack", meaning+".stack", "", group, f.value)
			continue
		}
		c.within(path+"."+f.name, meaning+"."+f.name, strings.TrimSpace(label+" "+f.name), group, f.value)
	}
	if len(v.fields) > 0 || v.text == "" {
		return
	}
	explained, err := study.Explain(meaning)
	if err != nil {
		return
	}
	head, doc, _ := strings.Cut(explained, "\n\n")
	_, kind, _ := strings.Cut(head, ": ")
	a, ok := amountOf(strings.TrimSpace(kind), v)
	if !ok {
		return
	}
	doc, _, _ = strings.Cut(doc, "\n\n")
	k := &knob{path: path, group: group, label: label, about: strings.Join(strings.Fields(doc), " "), amount: a, now: v.text}
	k.texts, k.at = a.steps(path[strings.LastIndexByte(path, '.')+1:], v.text)
	if len(k.texts) > 1 {
		c.all = append(c.all, k)
	}
}

// stack adds the stages of a stack, by the name of their policy where that is
// the only one, as --set takes it. in says which branch it is of a fallback.
func (c *knobs) stack(path, meaning, in, group string, stack *value) {
	count := map[string]int{}
	for _, stage := range stack.list {
		for _, f := range stage.fields {
			count[f.name]++
		}
	}
	for i, stage := range stack.list {
		for _, f := range stage.fields {
			at, label := path+"."+f.name, strings.TrimSpace(in+" "+f.name)
			if count[f.name] > 1 {
				at, label = path+"."+strconv.Itoa(i)+"."+f.name, label+" "+strconv.Itoa(i+1)
			}
			if f.name == "fallback" {
				for j, branch := range f.get("to").list {
					c.stack(at+".to."+strconv.Itoa(j), meaning+".fallback.to", strings.TrimSpace(in+" branch "+strconv.Itoa(j+1)), group, branch)
				}
				continue
			}
			c.within(at, meaning+"."+f.name, label, group, f.value)
		}
	}
}

// compositions adds the stages of every composition. Those that several have at
// the same value are turned together.
func (c *knobs) compositions(v *value) {
	var all []*knob
	for _, composition := range v.fields {
		var own knobs
		prefix := "compositions." + composition.name
		own.stack(prefix, "compositions", "", "Stack "+composition.name, composition.value)
		for _, k := range own.all {
			k.seat = strings.TrimPrefix(k.path, prefix)
		}
		all = append(all, own.all...)
	}
	var single []*knob
	for _, k := range all {
		var same []*knob
		for _, other := range all {
			if other.seat == k.seat {
				same = append(same, other)
			}
		}
		switch alike := !slices.ContainsFunc(same, func(other *knob) bool { return other.now != k.now }); {
		case !alike || len(same) == 1:
			single = append(single, k)
		case same[0] == k:
			every := *k
			every.path, every.group, every.apart = "compositions.*"+k.seat, everyStack, same
			c.all = append(c.all, &every)
		}
	}
	c.all = append(c.all, single...)
}

// tried leaves what --set finds, and what is as it was when it is set to what it
// is. What stands for several, and is not, is taken apart.
func tried(f source, s *study.Study, all []*knob) (left []*knob) {
	holds := func(list ...*knob) bool {
		var sets []string
		for _, k := range list {
			sets = append(sets, k.path+"="+k.now)
		}
		again, err := f.read(sets)
		return err == nil && bytes.Equal(again.Config(), s.Config())
	}
	if holds(all...) {
		return all
	}
	for _, k := range all {
		if holds(k) {
			left = append(left, k)
			continue
		}
		for _, one := range k.apart {
			if holds(one) {
				left = append(left, one)
			}
		}
	}
	return left
}
