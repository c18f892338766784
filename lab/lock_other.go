//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package lab

import "os"

// lock claims nothing where the system has no such lock: there two runs into
// one folder at the same time are not told apart.
func lock(*os.File) (held bool, err error) { return false, nil }
