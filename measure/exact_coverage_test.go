package measure

import (
	"encoding/csv"
	"math"
	"os"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// TestExactCoverage: how often the interval of a rate covers the true share is
// a sum over all counts; without censoring it is that of the band as well.
func TestExactCoverage(t *testing.T) {
	file, err := os.Open("testdata/coverage.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		n, err1 := strconv.ParseInt(row[0], 10, 64)
		share, err2 := strconv.ParseFloat(row[1], 64)
		want, err3 := strconv.ParseFloat(row[2], 64)
		if err1 != nil || err2 != nil || err3 != nil {
			t.Fatal(row, err1, err2, err3)
		}
		counts := distuv.Binomial{N: float64(n), P: share}
		got := 0.0
		for k := range n + 1 {
			if i := clopperPearson(float64(k), float64(n)); i.Low <= share && share <= i.High {
				got += counts.Prob(float64(k))
			}
		}
		if math.Abs(got-want) > 0.00005+1e-9 { // the table has four digits
			t.Errorf("n = %d, share %v: covered in %.4f, want %.4f", n, share, got, want)
		}
	}
	if len(rows) < 20 {
		t.Errorf("%d rows", len(rows))
	}
}
