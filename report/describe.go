package report

import (
	"encoding/json"
	"strings"
)

// describeStack says what a stack does, outermost stage first.
func describeStack(stack json.RawMessage) string {
	var stages []string
	for _, stage := range objects(stack) {
		shared := ""
		if stage.is("shared") {
			shared = ", shared by all callers"
		}
		for _, m := range stage {
			if m.Name != "shared" {
				stages = append(stages, describeStage(m)+shared)
			}
		}
	}
	if stages == nil {
		return "calls straight through"
	}
	return strings.Join(stages, " → ")
}

func describeStage(m member) string {
	settings := object(m.Value)
	switch m.Name {
	case "retry":
		return "retry (" + describeRetry(settings) + ")"
	case "timeout":
		return "timeout (" + settings.time("after") + ")"
	case "breaker":
		return "breaker (" + describeBreaker(settings) + ")"
	case "limit":
		return "limit (" + describeLimit(settings) + ")"
	case "rate":
		return "rate (" + describeRate(settings) + ")"
	case "hedge":
		return "hedge (" + describeHedge(settings) + ")"
	case "throttle":
		return "throttle (k " + settings.text("k") + ", over " + settings.time("window") + ")"
	case "adaptive":
		return "adaptive limit (" + describeAdaptive(settings) + ")"
	case "fallback":
		return "fallback (" + describeFallback(settings) + ")"
	case "call":
		return "call " + written(m.Value)
	}
	return m.Name + " " + string(m.Value) // one that this report does not know
}

func describeRetry(s mapping) string {
	words := []string{s.text("attempts") + " attempts in all", describeBackoff(s.object("backoff"))}
	var on []string
	if json.Unmarshal(s.get("on"), &on) == nil && len(on) > 0 {
		words = append(words, "on "+list(on))
	}
	if s.set("budget") {
		words = append(words, describeBudget(s.object("budget")))
	}
	if s.set("retry_after") {
		words = append(words, "after what the dependency asks for, at most "+s.object("retry_after").time("cap"))
	}
	if s.set("needs") {
		words = append(words, "none with less than "+s.time("needs")+" to the deadline")
	}
	return strings.Join(words, ", ")
}

// describeBudget says which kind of budget it is, with what is not left out.
func describeBudget(b mapping) string {
	for _, m := range b {
		kind := map[string]string{"in_flight": "calls in flight", "recent": "recent calls", "grpc": "gRPC tokens", "costed": "costed tokens"}[m.Name]
		return strings.TrimSuffix("a budget of "+kind+" ("+plainSettings(object(m.Value))+")", " ()")
	}
	return "a budget"
}

// plainSettings lists settings as name and value.
func plainSettings(m mapping) string {
	var words []string
	for _, x := range m {
		words = append(words, strings.ReplaceAll(x.Name, "_", " ")+" "+timeText(x.Value))
	}
	return strings.Join(words, ", ")
}

func describeAdaptive(s mapping) string {
	words := s.text("kind")
	if s.is("initial") {
		words += ", from " + s.text("initial")
	}
	if s.is("min") {
		words += ", at least " + s.text("min")
	}
	if s.is("max") {
		words += ", at most " + s.text("max")
	}
	return words
}

func describeBackoff(b mapping) string {
	kind := b.text("kind")
	if kind == "none" || kind == "" {
		return "no backoff"
	}
	words := kind + " backoff of " + b.time("base")
	if kind == "exponential" {
		words += " × " + b.text("factor")
	}
	if b.is("cap") {
		words += ", at most " + b.time("cap")
	}
	if jitter := b.text("jitter"); jitter == "none" || jitter == "" {
		words += ", no jitter"
	} else {
		words += ", " + jitter + " jitter"
	}
	return words
}

func describeBreaker(s mapping) string {
	var words string
	switch {
	case s.is("consecutive"):
		words = "opens after " + s.text("consecutive") + " failures in a row"
	case s.is("calls"):
		words = "opens when " + percentages.write(100*s.float("ratio"), 0, false) + " of the last " + s.text("calls") + " calls failed"
	default:
		words = "opens when " + percentages.write(100*s.float("ratio"), 0, false) + " of the calls in " + s.time("window") + " failed"
	}
	if s.is("min_calls") {
		words += ", once " + s.text("min_calls") + " have ended"
	}
	words += ", for " + s.time("open_for")
	if s.float("probes") > 1 {
		words += ", " + s.text("probes") + " probes at once"
	}
	if s.float("close_after") > 1 {
		words += ", closes after " + s.text("close_after") + " successes"
	}
	return words
}

func describeLimit(s mapping) string {
	words := s.text("permits") + " permits"
	if !s.is("queue") {
		return words + ", no queue"
	}
	words += ", " + s.text("queue") + " may wait"
	if s.is("queue_timeout") {
		words += " for up to " + s.time("queue_timeout")
	}
	if s.text("order") == "lifo" {
		words += ", last in first out"
	}
	return words
}

func describeRate(s mapping) string {
	words := s.text("rate") + ", burst of " + s.text("burst")
	if s.is("wait") {
		return words + ", others wait"
	}
	return words + ", others are refused"
}

func describeHedge(s mapping) string {
	words := s.text("extra") + " extra after " + s.time("after")
	if s.is("quantile") {
		words = s.text("extra") + " extra after the " + timeText(s.get("quantile")) + " quantile of recent calls, " + s.time("after") + " at first"
	}
	if s.is("on_failure") {
		words += ", or at once on a failure"
	}
	if s.set("budget") {
		words += ", " + describeBudget(s.object("budget"))
	}
	return words
}

func describeFallback(s mapping) string {
	var branches []json.RawMessage
	if json.Unmarshal(s.get("to"), &branches) != nil {
		return string(s.get("to"))
	}
	var words []string
	for _, b := range branches {
		words = append(words, describeStack(b))
	}
	order := ""
	switch s.text("open") {
	case "last":
		order = "; a branch with an open breaker comes last"
	case "skip":
		order = "; a branch with an open breaker is left out"
	}
	return strings.Join(words, "; then ") + order
}

// describeBehaviour says what the settings make a dependency do; those that
// are not named stay as they are.
func describeBehaviour(b mapping) string {
	var words []string
	add := func(s ...string) { words = append(words, strings.Join(s, "")) }
	stream := b.set("first_token")
	for _, m := range b {
		v := object(m.Value)
		switch m.Name {
		case "latency":
			if !stream {
				add("answers after ", describeLatency(m.Value))
			}
		case "fail":
			describeFail(v, add)
		case "fail_after":
			add("fails every attempt after ", timeText(m.Value))
		case "hang":
			addIf(add, b.is("hang"), "never answers", "answers again")
		case "refuse":
			addIf(add, b.is("refuse"), "refuses every attempt at once", "refuses no more")
		case "cancel_cleanup":
			add("a cancelled attempt lives on for ", timeText(m.Value))
		case "cost":
			add("an attempt costs ", written(m.Value))
		case "first_token":
			add("streams, the first token after ", describeLatency(m.Value))
		case "token_gap":
			add("a token every ", describeLatency(m.Value))
		case "tokens":
			add(written(m.Value), " tokens an answer")
		case "replay":
			add("replays the recording ", v.text("folder"))
		case "slowdown":
			add("every answer takes ", written(m.Value), " times as long")
		case "retry_after":
			add("asks those it turns away to wait ", timeText(m.Value))
		case "workers":
			add(written(m.Value), " workers")
		case "queue":
			if written(m.Value) == "unbounded" {
				add("any number may wait")
			} else {
				add(written(m.Value), " may wait")
			}
		case "discipline":
			add("queue ", written(m.Value))
		case "codel":
			add("CoDel ", plainSettings(v))
		case "on_cancel":
			addIf(add, written(m.Value) == "burns", "a cancelled attempt is worked on to its end", "a cancelled attempt stops")
		case "deadline":
			addIf(add, written(m.Value) == "heeded", "the caller's deadline is heeded", "the caller's deadline is not known")
		case "paused":
			addIf(add, b.is("paused"), "all workers stand still", "the workers go on")
		case "replicas":
			add(written(m.Value), " replicas")
		case "balancer":
			add("balanced by ", strings.ReplaceAll(v.text("kind"), "_", " "))
			if v.set("notice") {
				add("a replica that is gone is noticed after ", v.time("notice"))
			}
		case "replica":
			for _, one := range objects(m.Value) {
				add("replica ", one.text("number"), ": ", describeBehaviour(one.without("number")))
			}
		case "stack":
			add("then calls: ", describeStack(m.Value))
		default:
			add(m.Name, " ", string(m.Value))
		}
	}
	if words == nil {
		return "as before"
	}
	return strings.Join(words, "; ")
}

func addIf(add func(...string), is bool, yes, no string) {
	if is {
		add(yes)
	} else {
		add(no)
	}
}

func describeFail(f mapping, add func(...string)) {
	after := ""
	if f.set("after") {
		after = " after " + f.time("after")
	}
	if f.is("first") {
		words := "fails the first " + f.text("first") + " attempts"
		if f.text("first") == "1" {
			words = "fails the first attempt"
		}
		add(words, " of each request", after)
	}
	if f.is("ratio") {
		add("fails ", number(100*f.float("ratio")), " % of the attempts", after)
	}
	if !f.is("first") && !f.is("ratio") {
		add("fails no attempt by chance")
	}
}

// describeLatency says how long an answer takes. The configuration has a
// plain time, a distribution by its name, or first and later.
func describeLatency(b json.RawMessage) string {
	m := object(b)
	if m == nil {
		return timeText(b)
	}
	if m.set("first") {
		return describeLatency(m.get("first")) + " at a request's first attempt and " +
			describeLatency(m.get("later")) + " at later ones"
	}
	if m.set("constant") {
		return m.time("constant")
	}
	for _, d := range m {
		s := object(d.Value)
		switch d.Name {
		case "lognormal":
			return "a log-normal time (" + settingsOf(s) + ")"
		case "exponential":
			return "an exponential time (" + settingsOf(s) + ")"
		case "normal":
			return "a normal time (" + settingsOf(s) + ", cut off at 0)"
		case "uniform":
			return "a uniform time from " + s.time("min") + " to " + s.time("max")
		case "empirical":
			return "one of the times in " + s.text("file")
		}
	}
	return string(b)
}

func settingsOf(s mapping) string {
	var words []string
	for _, m := range s {
		if s.is(m.Name) {
			words = append(words, m.Name+" "+timeText(m.Value))
		}
	}
	return strings.Join(words, ", ")
}
