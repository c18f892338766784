package command

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"brunt/lab"
)

// writeBytes writes a file with so many of a text after another, escapes and
// all: bytes FILE NUMBER TEXT.
func writeBytes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: bytes FILE NUMBER TEXT")
	}
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	text, err := strconv.Unquote(`"` + args[2] + `"`)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Repeat(text, n)), 0o666))
}

// cut leaves the first half of a file: cut FILE.
func cut(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: cut FILE")
	}
	path := ts.MkAbs(args[0])
	info, err := os.Stat(path)
	ts.Check(err)
	ts.Check(os.Truncate(path, info.Size()/2))
}

// validJSON holds a file to be JSON: json FILE.
func validJSON(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 || neg == json.Valid([]byte(ts.ReadFile(args[0]))) {
		ts.Fatalf("json: %q", args)
	}
}

// accounts holds a result to what is so in every one: accounts result.json.
// With !, the file must not hold such a result.
func accounts(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: accounts FILE")
	}
	var r lab.Result
	err := json.Unmarshal([]byte(ts.ReadFile(args[0])), &r)
	wrong := ""
	if err != nil {
		wrong = err.Error()
	} else {
		wrong = unaccounted(&r)
	}
	if neg == (wrong == "") {
		ts.Fatalf("%s: %q", args[0], wrong)
	}
}

// unaccounted says what a result leaves out, or "".
func unaccounted(r *lab.Result) string {
	if !r.Valid || len(r.Compositions) == 0 {
		return "no result"
	}
	for _, c := range r.Compositions {
		offered := int64(0)
		for _, p := range c.Phases {
			if p.Offered != p.Completed+p.Errored+p.Censored {
				return c.Name + ", " + p.Name + ": offered is not the sum of the outcomes"
			}
			offered += p.Offered
		}
		w := c.Whole
		switch {
		case w.Offered != w.Completed+w.Errored+w.Censored:
			return c.Name + ": offered is not the sum of the outcomes"
		case offered != w.Offered:
			return c.Name + ": the phases do not sum up to the whole"
		case c.ActiveAfterDrain != 0:
			return c.Name + ": attempts are active after the drain"
		}
	}
	return ""
}
