package command

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"brunt/lab"
)

// openTerminal returns both ends of a new terminal (ioctl_tty(2), pts(4)).
func openTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("there are no terminals here: ", err)
	}
	t.Cleanup(func() { master.Close() })
	control := func(request, argument uintptr) {
		t.Helper()
		if _, _, err := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), request, argument); err != 0 {
			t.Fatal(err)
		}
	}
	var number, locked uint32
	size := [4]uint16{24, 80}
	control(syscall.TIOCSPTLCK, uintptr(unsafe.Pointer(&locked)))
	control(syscall.TIOCGPTN, uintptr(unsafe.Pointer(&number)))
	control(syscall.TIOCSWINSZ, uintptr(unsafe.Pointer(&size)))
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	return master, slave
}

// onTerminal starts brunt on a terminal of its own, and waits until it shows
// text there.
func onTerminal(t *testing.T, study, text string, args ...string) (cmd *exec.Cmd, master *os.File) {
	t.Helper()
	master, slave := openTerminal(t)
	cmd = exec.CommandContext(t.Context(), "brunt", args...)
	cmd.Dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(cmd.Dir, "study.yaml"), []byte(study), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), "TERM=xterm")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = slave.Close() // the process has it
	if err := master.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Logf("reading may wait for ever: %v", err)
	}
	shown, in := strings.Builder{}, bufio.NewReader(master)
	for !strings.Contains(shown.String(), text) {
		b, err := in.ReadByte()
		if err != nil {
			t.Fatalf("the terminal shows no %q: %v\n%s", text, err, shown.String())
		}
		shown.WriteByte(b)
	}
	return cmd, master
}

// secondStudy takes a second, and does not keep its promise.
const secondStudy = `
study: second
clock: real
load: {rate: 200/s}
horizon: 200ms
dependencies: {service: {latency: 1ms}}
phases: [{name: only, for: 1s}]
compositions: {plain: [{timeout: {after: 100ms}}]}
recovery: {clean_window: 0s}
expect: [{composition: plain, measure: completed, at_least: 1000000}]
`

// A run outlives the terminal that it tells of itself on, and its report is
// read by nobody: its results are there, and the exit status is that of the run.
func TestTerminalGoesAway(t *testing.T) {
	t.Parallel()
	cmd, master := onTerminal(t, secondStudy, "in flight", "run", "study.yaml", "--out", "out")
	if err := master.Close(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // judged by its state
	if end := cmd.ProcessState.Sys().(syscall.WaitStatus); !end.Exited() || end.ExitStatus() != statusExpected {
		t.Errorf("ended with %v, expected the status %d of a failed expectation", cmd.ProcessState, statusExpected)
	}
	var r lab.Result
	b, err := os.ReadFile(filepath.Join(cmd.Dir, "out/result.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	if wrong := unaccounted(&r); wrong != "" || r.Aborted || r.Compositions[0].Whole.Offered != 200 {
		t.Errorf("%q, aborted: %t, %d requests", wrong, r.Aborted, r.Compositions[0].Whole.Offered)
	}
}

// A hang-up while the terminal is there is somebody's wish: the run drains.
func TestHangUpIsAWish(t *testing.T) {
	t.Parallel()
	cmd, master := onTerminal(t, longStudy, "in flight", "run", "study.yaml", "--clock", "real", "--out", "out")
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	read := make(chan bool)
	go func() { // or the report would fill the terminal
		defer close(read)
		in := bufio.NewReader(master)
		for {
			if _, err := in.ReadByte(); err != nil {
				return
			}
		}
	}()
	_ = cmd.Wait() // judged by its state
	<-read
	if end := cmd.ProcessState.Sys().(syscall.WaitStatus); !end.Exited() || end.ExitStatus() != statusSignal+int(syscall.SIGHUP) {
		t.Errorf("ended with %v", cmd.ProcessState)
	}
	if b, err := os.ReadFile(filepath.Join(cmd.Dir, "out/result.json")); err != nil || !strings.Contains(string(b), `"aborted": true`) {
		t.Errorf("the result does not say that the run was aborted: %v", err)
	}
}
