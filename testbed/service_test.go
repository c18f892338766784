package testbed

import (
	"bytes"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// asService names what this program does instead of its tests.
const asService = "TESTBED_TEST_SERVICE"

func TestMain(m *testing.M) {
	if does := os.Getenv(asService); does != "" {
		serve(does)
		return
	}
	goleak.VerifyTestMain(m)
}

// serve is a service, which answers at / and ends at /end.
func serve(does string) {
	switch does {
	case "talks":
		line := append(bytes.Repeat([]byte("x"), 1<<20-1), '\n')
		for range 70 {
			_, _ = os.Stdout.Write(line)
		}
	case "leaves a child":
		child := exec.Command("sleep", "60")
		child.Stdout = os.Stdout
		if err := child.Start(); err != nil {
			log.Fatal(err)
		}
	}
	http.HandleFunc("/end", func(http.ResponseWriter, *http.Request) {
		fmt.Println("out of cheese")
		if does == "fails" {
			os.Exit(7)
		}
		os.Exit(0)
	})
	log.Fatal(http.ListenAndServe(os.Getenv("BRUNT_LISTEN"), nil))
}

func start(t *testing.T, does string) *Service {
	t.Helper()
	listen := freeAddress(t)
	s, err := StartService(t.Context(), ServiceConfig{
		Command: []string{os.Args[0]}, Env: []string{asService + "=" + does, "BRUNT_LISTEN=" + listen}, Address: listen,
		Within: 30 * time.Second, Log: filepath.Join(t.TempDir(), "service.log"), After: time.After,
		Start: func(cmd *exec.Cmd, _ string) error { return cmd.Start() },
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// freeAddress is one on which nothing listens. Each has a host of its own on
// loopback: a free port of a shared one may be somebody else's before it is used.
func freeAddress(t *testing.T) string {
	t.Helper()
	pid, n := os.Getpid(), addresses.Add(1)
	l, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.%d:0", 1+pid>>8&0x7f, pid&0xff, n))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

var addresses atomic.Uint32

// end has the service end by itself, and waits until that was seen.
func (s *Service) end(t *testing.T) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	if answer, err := client.Get("http://" + s.config.Address + "/end"); err == nil {
		_ = answer.Body.Close()
	}
	select {
	case <-s.Done():
	case <-time.After(20 * time.Second):
		t.Error("nobody has seen that it ended")
	}
}

// A log does not fill the disk, however much a service says, and does not hold the
// service up.
func TestLogHasALimit(t *testing.T) {
	t.Parallel()
	s := start(t, "talks")
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(s.config.Log)
	if err != nil {
		t.Fatal(err)
	}
	const note = "\n[brunt keeps no more than 64 MiB of a log]\n"
	if len(text) != mostLog+len(note) || !bytes.HasSuffix(text, []byte(note)) {
		t.Errorf("the log has %d bytes: expected %d, and a note", len(text), mostLog)
	}
}

// How a service has ended by itself is told with what it said last, also when
// something that it has started goes on.
func TestEndsByItself(t *testing.T) {
	t.Parallel()
	for does, want := range map[string]string{
		"fails": "(exit status 7): out of cheese", "ends": "(with status 0): out of cheese", "leaves a child": "(with status 0): out of cheese",
	} {
		t.Run(does, func(t *testing.T) {
			t.Parallel()
			s := start(t, does)
			if err := s.Err(); err != nil {
				t.Errorf("while it runs: %v", err)
			}
			s.end(t)
			if err := s.Err(); err == nil || !strings.Contains(err.Error(), "has ended by itself "+want) {
				t.Errorf("it says: %v, expected %q", err, want)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestFindProgram(t *testing.T) {
	folder := t.TempDir()
	for name, mode := range map[string]os.FileMode{"program": 0o755, "text": 0o644} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ name, folder, want string }{
		{"sh", folder, ""},
		{"./program", folder, ""},
		{filepath.Join(folder, "program"), "", ""},
		{"/bin/sh", folder, ""},
		{"program", folder, "the service program cannot be started: expected a program on the PATH"},
		{"./missing", folder, "expected a program in " + folder + " (no such file or directory); is it built?"},
		{"./text", folder, "permission denied"},
		{"./program", "", "expected a program in . ("},
		{"/none/there", folder, "expected a program here (no such file or directory)"},
	} {
		err := FindProgram([]string{test.name, "--x"}, test.folder)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s in %q: %v, expected %q", test.name, test.folder, err, test.want)
		}
	}
}
