package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
)

// Pictures for people to look at: with BRUNT_SHOTS set to a folder, whole pages at
// two widths go there, cut into pieces. BRUNT_SHOT_OF names folders of runs instead of
// studies to make them of.
func TestPictures(t *testing.T) {
	to := os.Getenv("BRUNT_SHOTS")
	if to == "" {
		t.Skip("BRUNT_SHOTS names no folder for pictures")
	}
	folders := strings.Fields(os.Getenv("BRUNT_SHOT_OF"))
	if folders == nil {
		for _, study := range []string{"outage", "stampede", "provider-failure"} {
			folders = append(folders, runOf(t, study).folder)
		}
	}
	const most = 2400
	for _, folder := range folders {
		for _, v := range []view{{width: 1280, height: 900}, {width: 390, height: 844}, {width: 1280, height: 900, scheme: "dark"}} {
			p := open(t, folder, v)
			height := js[float64](p, "document.documentElement.scrollHeight")
			name := strings.ReplaceAll(strings.Trim(filepath.ToSlash(folder), "/"), "/", "_")
			for y, i := 0., 0; y < height; y, i = y+most, i+1 {
				shot := call(p, page.CaptureScreenshot, page.CaptureScreenshotParams{CaptureBeyondViewport: ptr(true),
					Clip: &page.Viewport{Y: y, Width: float64(v.width), Height: min(most, height-y), Scale: 1}})
				file := filepath.Join(to, fmt.Sprintf("%s-%d%s-%02d.png", name, v.width, v.scheme, i))
				if err := os.WriteFile(file, shot.Data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

func ptr[T any](v T) *T { return &v }
