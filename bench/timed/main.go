// Timed runs a command and says on stderr, as one line behind everything else,
// what it took: CPU microseconds (user and system), the most memory it held in
// KiB, and seconds.
//
//	timed COMMAND ARGUMENTS…
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "timed: expected a command")
		os.Exit(2)
	}
	c := exec.Command(os.Args[1], os.Args[2:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	begin := time.Now()
	err := c.Run()
	took := time.Since(begin)
	if c.ProcessState == nil {
		fmt.Fprintln(os.Stderr, "timed:", err)
		os.Exit(2)
	}
	memory := int64(0)
	if u, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok {
		if memory = int64(u.Maxrss); runtime.GOOS == "darwin" { // which counts bytes
			memory >>= 10
		}
	}
	cpu := c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	fmt.Fprintln(os.Stderr, cpu.Microseconds(), memory, took.Seconds())
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		os.Exit(max(exit.ExitCode(), 1))
	}
}
