package lab

import "testing"

// A front's log holds requests of others, of other compositions and of the
// warm-up: none of them is taken for one of the run.
func TestRequestsOfALog(t *testing.T) {
	const prefix, first = "brunt-x1-retry@2", idsPerRun
	for _, c := range []struct {
		name, id string
		want     int64 // -1 for one of another
	}{
		{"the run's", "brunt-x1-retry@2-1099511627793-0", 17},
		{"its second attempt", "brunt-x1-retry@2-1099511627793-1", 17},
		{"the warm-up's", "brunt-x1-retry@2-17-0", -1},
		{"another composition's", "brunt-x1-retry-1099511627793-0", -1},
		{"one whose name goes on", "brunt-x1-retry@2-more-1099511627793-0", -1},
		{"made up by the front", "front-18b1-7", -1},
		{"cut short", "brunt-x1-retry@2-1099511627793", -1},
		{"of a later run", "brunt-x1-retry@2-2199023255552-0", -1},
		{"none", "", -1},
	} {
		got, ours := requestOf(c.id, prefix, first)
		if !ours {
			got = -1
		}
		if got != c.want {
			t.Errorf("%s: %q is request %d, want %d", c.name, c.id, got, c.want)
		}
	}
}
