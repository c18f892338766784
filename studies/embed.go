// Package studies holds the built-in studies, one YAML file each.
package studies

import "embed"

// Files has the studies as NAME.yaml.
//
//go:embed *.yaml
var Files embed.FS
