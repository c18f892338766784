//go:build linux

package fault

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// beInside makes a black hole in a namespace of its own.
func beInside() error {
	inside, err := EnterNamespace(os.Getenv)
	if err != nil || !inside {
		return fmt.Errorf("inside %v, %v", inside, err)
	}
	if again, err := EnterNamespace(os.Getenv); err != nil || !again {
		return fmt.Errorf("once more: %v, %v", again, err)
	}
	if err := CanBlackHole(); err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go http.Serve(l, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	dir, err := os.MkdirTemp("", "brunt-inside")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	g, err := NewGuard(context.Background(), GuardConfig{Run: newRun(), State: dir + "/brunt", Reap: reapLine()})
	if err != nil {
		return err
	}
	f, err := New(&Config{Kind: BlackHole, For: 100 * time.Millisecond}, Victim{Name: "east", Addr: netip.MustParseAddrPort(l.Addr().String())}, Env{Now: sinceStart(), Guard: g})
	if err != nil {
		return err
	}
	if err := f.Arm(context.Background()); err != nil {
		return err
	}
	if err := f.Fire(context.Background()); err != nil {
		return err
	}
	if err := f.Wait(context.Background()); err != nil {
		return err
	}
	if err := errors.Join(f.Close(), g.Close()); err != nil {
		return err
	}
	r := f.Record()
	fmt.Println(os.Getuid(), networkNamespace(), r.DroppedTo > 0, r.Heal >= r.Expired)
	return nil
}

// beWaiting says that it waits for a signal, and does.
func beWaiting() error {
	fmt.Println("waiting")
	<-time.After(time.Minute)
	return nil
}

// An ordinary user makes black holes in a namespace of his own.
func TestNamespaceOfAnOrdinaryUser(t *testing.T) {
	t.Parallel()
	cmd := self(t, "outside", "TMPDIR=/tmp")
	if os.Getuid() == 0 {
		cmd = asNobody(t, cmd)
	}
	outside := begin(t, cmd)
	said := outside.line(t)
	var uid int
	var network string
	var dropped, healed bool
	if none, ok := strings.CutPrefix(said, noNamespace); ok {
		t.Skip("no namespace can be made here:", none)
	}
	if _, err := fmt.Sscan(said, &uid, &network, &dropped, &healed); err != nil {
		t.Fatalf("inside: %s", said)
	}
	if uid == 0 || network == networkNamespace() || !dropped || !healed {
		t.Errorf("inside: %s", said)
	}
	if status := outside.line(t); status != "status 0" {
		t.Errorf("it ended with %s", status)
	}
	if err := outside.Wait(); err != nil {
		t.Error(err)
	}
}

// asNobody has a command run as an ordinary user, from a copy of this binary
// that he can read.
func asNobody(t testing.TB, cmd *exec.Cmd) *exec.Cmd {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "brunt-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	os.Chmod(dir, 0o755)
	if err := os.Link(cmd.Path, dir+"/test"); err != nil {
		text, err := os.ReadFile(cmd.Path)
		if err == nil {
			err = os.WriteFile(dir+"/test", text, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	os.Chmod(dir+"/test", 0o755)
	cmd.Path, cmd.Args[0], cmd.Dir = dir+"/test", dir+"/test", "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	return cmd
}

// Signals go in, and statuses come out.
func TestNamespaceSignals(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("tried as root")
	}
	outside := begin(t, self(t, "outside", "FAULT_TEST_INSIDE=waits"))
	if said := outside.line(t); strings.HasPrefix(said, noNamespace) {
		t.Skip(said)
	} else if said != "waiting" {
		t.Fatalf("inside: %s", said)
	}
	outside.Process.Signal(syscall.SIGTERM)
	if status := outside.line(t); status != "status 143" {
		t.Errorf("it ended with %s", status)
	}
}

// noNamespace begins what is said where a namespace cannot be made.
const noNamespace = "no namespace: "

// beOutside starts a program in a namespace.
func beOutside() error {
	path, err := os.Executable()
	if err != nil {
		return err
	}
	role := os.Getenv("FAULT_TEST_INSIDE")
	if role == "" {
		role = "inside"
	}
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), roleVariable+"="+role)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	status, err := InNamespace(context.Background(), cmd)
	if err != nil {
		return fmt.Errorf("%s%w", noNamespace, err)
	}
	fmt.Println("status", status)
	return nil
}
