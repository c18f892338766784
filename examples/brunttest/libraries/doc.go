// Package libraries holds what well-known Go libraries do in small scenarios, as
// tests: each says what is expected of them by name, version and source, so that
// a new version that does something else turns its test red. None of it is said
// against a library: what one does here, its documentation mostly says.
package libraries
