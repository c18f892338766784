#!/usr/bin/env bash
# Makes the pictures of the README anew: charts of report.html, from runs of the
# built-in studies. They are functions of the studies alone; the tests in e2e say when
# they are not what brunt draws any more.
set -euo pipefail
cd "$(dirname "$0")/../.."
export CGO_ENABLED=0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/brunt" ./cmd/brunt

# A study runs once; its charts are drawn from its folder.
draw() { # STUDY CHART FILE
	if [ ! -d "$work/$1" ]; then "$work/brunt" run "$1" --out "$work/$1" >/dev/null 2>&1; fi
	"$work/brunt" chart "$work/$1" "$2" >"$work/chart.svg"
	mv "$work/chart.svg" "docs/pictures/$3"
}

draw outage timeline/retry outage-retry.svg
draw outage timeline/retry-breaker outage-retry-breaker.svg
draw outage completion/slowdown outage-slowdown.svg
draw stampede herd stampede-herd.svg
draw provider-failure providers/calls-to-primary-while-it-is-dead provider-calls.svg
