// Package e2e looks at report.html in a real browser: what its reader sees, does
// and prints. It is a module of its own, so that what drives the browser is no part
// of brunt. It builds brunt, runs studies on the virtual clock in temporary folders,
// and opens their pages from disk in a Chromium without a window.
package e2e

import (
	"context"
	_ "embed"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"go.uber.org/goleak"
)

// browser is the one browser of all tests, and work is where runs are kept.
var (
	browser context.Context
	work    string
)

func TestMain(m *testing.M) {
	status, err := tests(m)
	if err == nil {
		err = goleak.Find()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(1)
	}
	os.Exit(status)
}

// tests runs all tests with a browser that is there before and gone after them.
func tests(m *testing.M) (int, error) {
	path, err := chromium()
	if err != nil {
		return 0, err
	}
	if work, err = os.MkdirTemp("", "brunt-e2e-"); err != nil {
		return 0, err
	}
	defer os.RemoveAll(work)
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.Flag("headless", "new"), chromedp.Flag("mute-audio", true), chromedp.Flag("disable-gpu", true))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // which root has not
	}
	all, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	var cancel context.CancelFunc
	browser, cancel = chromedp.NewContext(all)
	defer cancel()
	if err := chromedp.Do(browser, chromedp.Navigate("about:blank")); err != nil {
		return 0, fmt.Errorf("starting %s: %w", path, err)
	}
	return m.Run(), nil
}

// chromium is the path of a browser: $CHROMIUM, or one by its usual names.
func chromium() (string, error) {
	names := []string{"chromium", "chromium-browser", "google-chrome"}
	if name := os.Getenv("CHROMIUM"); name != "" {
		names = []string{name}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no browser: none of %s is here (as root: apt-get install chromium)", strings.Join(names, ", "))
}

// patience is how long one page may keep a test.
const patience = 3 * time.Minute

// tab is a page in the browser, with what it did since it was opened.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu    sync.Mutex
	said  []string // on the console, or as an error
	asked []string // addresses that it requested
}

//go:embed read.js
var readScript string

// view is how a page is looked at.
type view struct {
	width, height int64
	media         string // "print", or "" for a screen
	scheme        string // "dark", or "" for light
	plain         bool   // no script runs
}

var wide = view{width: 1280, height: 900}

// open opens a page of a run in a tab of its own, and waits until it is there.
func open(t *testing.T, folder string, v view) *tab {
	t.Helper()
	within, forget := context.WithTimeout(browser, patience)
	t.Cleanup(forget)
	ctx, leave := chromedp.NewContext(within)
	t.Cleanup(leave)
	p := &tab{t: t, ctx: ctx}
	p.check(chromedp.Do(ctx, chromedp.Navigate("about:blank")))
	p.check(chromedp.Listen(ctx, p.hear))
	call(p, network.Enable, network.EnableParams{})
	call(p, log.Enable, cdp.Empty{})
	call(p, performance.Enable, performance.EnableParams{TimeDomain: performance.EnableTimeDomainThreadTicks})
	p.look(v)
	if v.plain {
		call(p, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	}
	address := url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(folder, "report.html"))}
	p.check(chromedp.Do(ctx, chromedp.Navigate(address.String())))
	js[any](p, readScript)
	return p
}

// look changes how the page is looked at.
func (p *tab) look(v view) {
	p.t.Helper()
	call(p, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: v.width, Height: v.height, DeviceScaleFactor: 1, Mobile: false})
	scheme := v.scheme
	if scheme == "" {
		scheme = "light"
	}
	call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: v.media,
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
}

// hear keeps what the browser tells of a page.
func (p *tab) hear(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		p.asked = append(p.asked, e.Request.URL)
	case *runtime.EventConsoleAPICalled:
		p.said = append(p.said, "console: "+string(e.Type))
	case *runtime.EventExceptionThrown:
		p.said = append(p.said, "exception: "+e.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		p.said = append(p.said, string(e.Entry.Level)+": "+e.Entry.Text)
	case *page.EventJavascriptDialogOpening:
		p.said = append(p.said, "dialog: "+e.Message)
	}
}

// quiet fails the test if the page said anything, or asked for more than itself.
func (p *tab) quiet() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.said {
		p.t.Errorf("the page says: %s", s)
	}
	if len(p.asked) != 1 || !strings.HasPrefix(p.asked[0], "file://") {
		p.t.Errorf("the page asked for %q, want itself alone", p.asked)
	}
}

func (p *tab) check(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// call runs a command of the browser's protocol.
func call[P, R any](p *tab, command cdp.Command[P, R], params P) R {
	p.t.Helper()
	r, err := chromedp.Call(p.ctx, command, params)
	p.check(err)
	return r
}

// js evaluates an expression in the page.
func js[T any](p *tab, expression string) T {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		p.t.Fatalf("%v, of %.200s", err, expression)
	}
	return v
}
