package clock

import "testing"

func TestRateTimes(t *testing.T) {
	for _, c := range []struct {
		rate     string
		num, den int64
		want     string
	}{
		{"100/s", 99, 100, "99/s"},
		{"100/s", 1, 3, "100/3s"}, // exact, though no decimal
		{"7/min", 50, 100, "3.5/min"},
	} {
		rate, err := ParseRate(c.rate)
		if err != nil {
			t.Fatal(err)
		}
		want, err := ParseRate(c.want)
		if err != nil {
			t.Fatal(err)
		}
		if got := rate.Times(c.num, c.den); got != want {
			t.Errorf("%s times %d/%d is %v, want %v", c.rate, c.num, c.den, got, want)
		}
	}
	// the exact product has too long a denominator: near enough, and still a rate
	rate, err := ParseRate("12345.678917/s")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := rate.Times(37, 100).PerSecond(), rate.PerSecond()*0.37; got < want*(1-1e-9) || got > want*(1+1e-9) {
		t.Errorf("%v a second, want about %v", got, want)
	}
}
