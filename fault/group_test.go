package fault

import (
	"bufio"
	"fmt"
	"os/exec"
	"syscall"
	"testing"
)

// TestGroup: what a process has started ends with the guard, also when the process
// itself has ended before, or nobody has waited for it yet.
func TestGroup(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(t *testing.T, leader *exec.Cmd)
	}{
		{"the leader is there", func(*testing.T, *exec.Cmd) {}},
		{"the leader is gone", func(t *testing.T, leader *exec.Cmd) {
			if err := leader.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = leader.Wait() // it was killed
		}},
		{"nobody has waited for the leader", func(t *testing.T, leader *exec.Cmd) {
			p, err := Identify(leader.Process.Pid)
			if err != nil {
				t.Fatal(err)
			}
			if err := leader.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the leader ends", func() bool { return !p.Alive() })
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := newGuard(t)
			leader := exec.Command("sh", "-c", "sleep 600 & echo $!; wait")
			leader.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			out, err := leader.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := g.Start(leader, "west"); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = leader.Wait() }) // it may have been waited for
			var pid int
			if _, err := fmt.Fscan(bufio.NewReader(out), &pid); err != nil {
				t.Fatal(err)
			}
			child, err := Identify(pid)
			if err != nil {
				t.Fatal(err)
			}
			c.end(t, leader)
			if !child.Alive() {
				t.Fatal("what it has started is gone before the guard is closed")
			}
			if err := g.Close(); err != nil {
				t.Error(err)
			}
			eventually(t, "what it has started ends", func() bool { return !child.Alive() })
		})
	}
}
