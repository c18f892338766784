package report

import "testing"

func TestCommandLine(t *testing.T) {
	for _, c := range []struct {
		command []string
		want    string
	}{
		{[]string{"brunt", "run", "outage"}, "brunt run outage"},
		{[]string{"brunt", "--set", "phases.*.for=5s"}, "brunt --set 'phases.*.for=5s'"},
		{[]string{"brunt", "a b", ""}, "brunt 'a b' ''"},
		{[]string{"brunt", "it's"}, `brunt 'it'\''s'`},
		{[]string{"brunt", "$(x)"}, "brunt '$(x)'"},
	} {
		if got := CommandLine(c.command); got != c.want {
			t.Errorf("%q: %s, expected %s", c.command, got, c.want)
		}
	}
}
