// Package studies holds the studies of the comparison of libraries, as files.
package studies

import "embed"

// Files has the studies as NAME.yaml.
//
//go:embed *.yaml
var Files embed.FS
