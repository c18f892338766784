package serve

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"brunt/lab"
	"brunt/report"
	"brunt/study"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// small is a study that runs in a few milliseconds.
const small = `study: small
question: What does a retry do?
load: {rate: 50/s}
horizon: 5s
dependencies: {db: {latency: 5ms, fail: {ratio: 0.2}}}
phases: [{name: calm, for: 1s}, {name: storm, for: 1s, dependencies: {db: {fail_after: 20ms}}}, {name: recovery, for: 1s}]
ties: {runs: 0}
compositions:
  plain: [{timeout: {after: 1s}}]
  retry: [{retry: {attempts: 3, backoff: {kind: constant, base: 10ms, jitter: none}}}, {timeout: {after: 1s}}]
`

// heavy is a study that is within the limits and takes its time.
const heavy = `study: heavy
load: {rate: 10000/s}
dependencies: {db: {latency: 5ms}}
phases: [{name: long, for: 100s}]
compositions: {plain: []}
`

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// runInto runs a study into a folder, as brunt run does.
func runInto(t *testing.T, path, text string, sets ...string) {
	t.Helper()
	st, err := study.Read("-", study.Options{Stdin: strings.NewReader(text), Sets: sets, Measure: lab.CheckName})
	if err != nil {
		t.Fatal(err)
	}
	s := New(Config{})
	if err := s.runIn(t.Context(), path, st, []string{"brunt", "run", "small"}, report.WriteFolder); err != nil {
		t.Fatal(err)
	}
}

// served is a server that answers on loopback, and a browser that has its cookie.
type served struct {
	*Server
	t       *testing.T
	base    string // http://127.0.0.1:PORT
	cookie  *http.Cookie
	client  *http.Client
	stop    func() error // ends it, and returns what Serve did
	studies string       // the folder of local studies
}

// start serves a folder until the test ends.
func start(t *testing.T, folder string, change ...func(*Server)) *served {
	t.Helper()
	h := &served{t: t, studies: t.TempDir(), client: &http.Client{
		Transport:     &http.Transport{},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	h.Server = New(Config{Folder: folder, Studies: []string{h.studies}, Instrument: lab.ThisInstrument()})
	for _, f := range change {
		f(h.Server)
	}
	l, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var result error
	var wait sync.WaitGroup
	wait.Go(func() { result = h.Serve(ctx, l) })
	h.stop = func() error {
		cancel()
		wait.Wait()
		return result
	}
	t.Cleanup(func() {
		if err := h.stop(); err != nil {
			t.Errorf("the server ends with %v", err)
		}
		h.client.CloseIdleConnections()
	})
	h.base = "http://" + l.Addr().String()
	first, err := h.client.Get(h.Address(l))
	if err != nil {
		t.Fatal(err)
	}
	first.Body.Close()
	if len(first.Cookies()) != 1 {
		t.Fatalf("the address sets %d cookies", len(first.Cookies()))
	}
	h.cookie = first.Cookies()[0]
	return h
}

// do sends a request as the browser does, after change.
func (h *served) do(method, path, body string, change ...func(*http.Request)) (status int, header http.Header, text string) {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), method, h.base+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	r.AddCookie(h.cookie)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if method == http.MethodPost {
		r.Header.Set("Origin", h.base)
		r.Header.Set("Content-Type", "application/json")
	}
	for _, f := range change {
		f(r)
	}
	response, err := h.client.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer response.Body.Close()
	all, err := io.ReadAll(response.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(all)
}

func (h *served) get(path string) (status int, text string) {
	h.t.Helper()
	status, _, text = h.do(http.MethodGet, path, "")
	return status, text
}

var once struct {
	sync.Once
	files map[string][]byte
}

// aRunIn copies a run of the small study, which is run once, to a folder.
func aRunIn(t *testing.T, path string) {
	t.Helper()
	once.Do(func() {
		dir := t.TempDir()
		runInto(t, dir, small)
		once.files = map[string][]byte{}
		entries, err := os.ReadDir(dir)
		for _, e := range entries {
			data, readErr := os.ReadFile(filepath.Join(dir, e.Name()))
			once.files[e.Name()], err = data, errors.Join(err, readErr)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	for name, data := range once.files {
		write(t, filepath.Join(path, name), string(data))
	}
}

func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			_, body, _ := strings.Cut(text, "<body")
			t.Errorf("there is no %q in: %.3000s", p, cmp.Or(body, text))
		}
	}
}
