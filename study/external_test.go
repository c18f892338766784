package study

import (
	"fmt"
	"strings"
	"testing"
)

// TestExternal: a study with a service of the user's own is told what cannot work
// before anything is started.
func TestExternal(t *testing.T) {
	const text = `study: x
clock: %s
load: {rate: 10/s}
dependencies: {a-b: {latency: 1ms}, c: {latency: 1ms}}
phases: [{name: all, for: 1s}]
serve: {%s}
compositions: {mine: [%s{external: {url: "http://127.0.0.1:8080/"%s}}%s]}
`
	for _, c := range []struct {
		name                               string
		clock, serve, before, inside, tail string
		want                               string // part of a fault or a doubt; "" for neither
	}{
		{"all well", "real", `a-b: "127.0.0.1:9001", c: "127.0.0.1:9002"`, "", "", "", ""},
		{"brunt's own retry around it", "real", `c: "127.0.0.1:9002"`, "{retry: {attempts: 2}}, ", "", "", ""},
		{"on the virtual clock", "virtual", `c: "127.0.0.1:9002"`, "", "", "", "answers in its own time: expected clock: real"},
		{"nothing served", "real", "", "", "", "", "nothing is served, so what the service calls cannot be seen"},
		{"an unknown name", "real", `d: "127.0.0.1:9002"`, "", "", "", `unknown dependency "d"`},
		{"no port", "real", `c: "127.0.0.1"`, "", "", "", "expected an address and a port"},
		{"one port twice", "real", `a-b: "127.0.0.1:9002", c: "127.0.0.1:9002"`, "", "", "", "is where a-b is served: expected another port"},
		{"the service's own port", "real", `c: "127.0.0.1:8080"`, "", "", "", "is where the service of mine is called"},
		{"a port that nobody knows", "real", `c: "127.0.0.1:0"`, "", "", "", "is a free port, and the service of mine cannot know which"},
		{"a free port that the command finds", "real", `c: "127.0.0.1:0"`, "", ", command: [./x]", "", ""},
		{"open to others", "real", `c: "0.0.0.0:9002"`, "", "", "", "is not only this machine's"},
		{"ready without a command", "real", `c: "127.0.0.1:9002"`, "", ", ready: /health", "", "expected command too"},
		{"not ready by a path", "real", `c: "127.0.0.1:9002"`, "", ", command: [./x], ready: health", "", "expected a path such as /health"},
		{"a command of nothing", "real", `c: "127.0.0.1:9002"`, "", `, command: [""]`, "", "expected a program and its arguments"},
		{"a command of blanks", "real", `c: "127.0.0.1:9002"`, "", `, command: [" "]`, "", "expected a program and its arguments"},
		{"no command", "real", `c: "127.0.0.1:9002"`, "", `, command: []`, "", "expected a program and its arguments"},
		{"never ready", "real", `c: "127.0.0.1:9002"`, "", `, command: [./x], ready_within: 0s`, "", "ready_within: 0s: expected more than 0s"},
		{"something behind it", "real", `c: "127.0.0.1:9002"`, "", "", ", {call: c}", "external ends a stack"},
		{"a header that brunt sets", "real", `c: "127.0.0.1:9002"`, "", ", headers: [{name: X-Brunt-Request, value: x}]", "", "is set for each request"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := Read("-", Options{Stdin: strings.NewReader(fmt.Sprintf(text, c.clock, c.serve, c.before, c.inside, c.tail))})
			said := ""
			if err != nil {
				said = err.Error()
			} else {
				for _, w := range s.Warnings() {
					if !strings.Contains(w.Error(), "no composition calls it") {
						said += w.Error() + "\n"
					}
				}
			}
			if c.want == "" && said != "" || !strings.Contains(said, c.want) {
				t.Errorf("it says %q, expected %q", said, c.want)
			}
		})
	}
	clash := strings.Replace(fmt.Sprintf(text, "real", `a-b: "127.0.0.1:9001", a.b: "127.0.0.1:9002"`, "", "", ""), "c: {latency: 1ms}}", "a.b: {latency: 1ms}}", 1)
	if _, err := Read("-", Options{Stdin: strings.NewReader(clash)}); err == nil || !strings.Contains(err.Error(), "BRUNT_URL_A_B") {
		t.Errorf("two names of one variable: %v", err)
	}
}
