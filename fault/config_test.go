package fault

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"brunt/check"
)

func TestConfigCheck(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Config)
		want   []string
	}{
		{"nothing", func(c *Config) {}, []string{"kind: missing: expected kill, freeze, black_hole, mode or exec"}},
		{"unknown", func(c *Config) { c.Kind = "burn" }, []string{`kind: "burn": expected kill, freeze, black_hole, mode, exec`}},
		// what is killed may stay dead, or be started again
		{"kill", func(c *Config) { c.Kind = Kill }, nil},
		{"kill for a time", func(c *Config) { c.Kind, c.For = Kill, time.Second }, nil},
		{"kill backwards", func(c *Config) { c.Kind, c.For = Kill, -1 }, []string{"for: -1ns: expected a duration of 0 or more"}},
		// the rest has to end
		{"freeze", func(c *Config) { c.Kind = Freeze }, []string{"for: missing: expected how long the fault lasts"}},
		{"black hole", func(c *Config) { c.Kind = BlackHole }, []string{"for: missing: expected how long the fault lasts"}},
		// the kernel counts milliseconds: none would be for ever
		{"too short", func(c *Config) { c.Kind, c.For = BlackHole, time.Microsecond }, []string{"for: 1µs: expected 1ms or more"}},
		{"backwards", func(c *Config) { c.Kind, c.For = Freeze, -1 }, []string{"for: -1ns: expected a duration above 0"}},
		{"mode", func(c *Config) { c.Kind, c.For, c.Mode = Mode, time.Second, "stall" }, nil},
		{"no mode", func(c *Config) { c.Kind, c.For = Mode, time.Second }, []string{`mode: "": expected stall, error, abort, hang, slow, reload`}},
		{"a factor of nothing", func(c *Config) { c.Kind, c.For, c.Mode, c.Factor = Mode, time.Second, "stall", 4 }, []string{"factor: 4: goes with mode slow"}},
		{"slow", func(c *Config) { c.Kind, c.For, c.Mode, c.Factor = Mode, time.Second, "slow", 4 }, nil},
		{"mode of another kind", func(c *Config) { c.Kind, c.Mode = Kill, "stall" }, []string{"mode: stall: goes with kind mode"}},
		{"exec", func(c *Config) { c.Kind, c.Fire, c.Undo, c.For = Exec, Command{"a"}, Command{"b"}, time.Second }, nil},
		{"exec without an end", func(c *Config) { c.Kind, c.Fire, c.Undo = Exec, Command{"a"}, Command{"b"} }, []string{"for: missing: expected how long the fault lasts"}},
		{"exec without undo", func(c *Config) { c.Kind, c.Fire = Exec, Command{"a"} }, []string{"undo: missing: nothing ends the fault when brunt is gone"}},
		{"exec of nothing", func(c *Config) { c.Kind, c.Undo, c.For = Exec, Command{"", "x"}, time.Second }, []string{
			"fire: missing: expected the command that makes the fault", `undo.0: "": expected a program`}},
		{"no time", func(c *Config) {
			c.Kind, c.Fire, c.Undo, c.For, c.Timeout = Exec, Command{"a"}, Command{"b"}, time.Second, 0
		}, []string{"timeout: 0s: expected a duration above 0"}},
		{"commands of another kind", func(c *Config) { c.Kind, c.Fire = Kill, Command{"docker", "kill", "x"} }, []string{"fire: docker kill x: goes with kind exec"}},
	}
	for _, test := range tests {
		var c Config
		c.SetDefaults()
		test.change(&c)
		p := check.New()
		c.Check(p)
		var got []string
		for _, problem := range p.All() {
			got = append(got, problem.Error())
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}
