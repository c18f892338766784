// Package studies holds the built-in studies and protocols, one YAML file each.
package studies

import "embed"

// Files has the studies as NAME.yaml and the protocols as
// protocols/NAME@VERSION.yaml.
//
//go:embed *.yaml protocols/*.yaml
var Files embed.FS
