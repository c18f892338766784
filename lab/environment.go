package lab

import (
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// The wall clock is read here and nowhere else in this package: what depends
// on it stands in environment.json.

func wallClock() time.Time { return time.Now() }

func sinceMillis(t time.Time) float64 {
	return float64(time.Since(t).Round(time.Microsecond)) / float64(time.Millisecond)
}

func environment(command []string) *Environment {
	return &Environment{
		Started:    time.Now().UTC().Format(time.RFC3339),
		Go:         runtime.Version(),
		OS:         systemName(),
		Arch:       runtime.GOARCH,
		CPUs:       runtime.NumCPU(),
		CPU:        field("/proc/cpuinfo", "model name", ":"),
		Kernel:     firstLine("/proc/sys/kernel/osrelease"),
		GOMAXPROCS: runtime.GOMAXPROCS(0),
		Command:    command,
	}
}

// systemName is the name of the distribution, or of the operating system.
func systemName() string {
	if name := strings.Trim(field("/etc/os-release", "PRETTY_NAME", "="), `"`); name != "" {
		return name
	}
	return runtime.GOOS
}

// field returns the value of the first line of a file that begins with key.
func field(file, key, separator string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		if k, v, ok := strings.Cut(line, separator); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

func firstLine(file string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return line
}

// version and commit are stamped by a release build:
// go build -ldflags "-X brunt/lab.version=v1.2.3 -X brunt/lab.commit=…".
var version, commit string

// ThisInstrument says which brunt this program is.
func ThisInstrument() Instrument {
	i := Instrument{Version: version}
	info, _ := debug.ReadBuildInfo()
	if i.Version == "" {
		i.Version = "(devel)"
		if info != nil && info.Main.Version != "" {
			i.Version = info.Main.Version
		}
	}
	rev, modified := commit, false
	if rev == "" && info != nil {
		for _, setting := range info.Settings {
			switch setting.Key {
			case "vcs.revision":
				rev = setting.Value
			case "vcs.modified":
				modified = setting.Value == "true"
			}
		}
	}
	switch {
	case rev == "":
		i.CommitReason = "the build did not record it"
	case modified:
		i.CommitReason = "built from a modified checkout"
		fallthrough
	default:
		i.Commit = &rev
	}
	return i
}

// wallAfter is [time.After], for what waits for processes.
func wallAfter(d time.Duration) <-chan time.Time { return time.After(d) }

// fingerprint says on what machine something runs: its processor, how that is
// clocked, how many there are, and the kernel.
func fingerprint() string {
	governor := firstLine("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
	if governor == "" {
		governor = "no governor"
	}
	return strings.Join([]string{
		field("/proc/cpuinfo", "model name", ":"), governor,
		strconv.Itoa(runtime.NumCPU()) + " processors", firstLine("/proc/sys/kernel/osrelease"),
	}, ", ")
}
