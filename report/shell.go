package report

import "strings"

// CommandLine writes a command as a POSIX shell takes it: what could mean something
// else to it is quoted.
func CommandLine(command []string) string {
	words := make([]string, len(command))
	for i, w := range command {
		if words[i] = w; w == "" || strings.Trim(w, shellPlain) != "" {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// shellPlain are signs that mean nothing else to a shell.
const shellPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,@%+"
