#!/usr/bin/env bash
# Runs the examples, and holds them to what their studies expect.
#
#   check.sh [EXAMPLE...]    such as check.sh nginx; all of them by default
#
# It installs what is missing where it can: Debian's packages as root, npm's and
# PyPI's as anybody. BRUNT names a brunt to use; without it one is built.
# Exit status: 0 all held, 1 an example did not, 2 usage, 3 one was skipped.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
lanes=()

finish() {
	for lane in "${lanes[@]}"; do
		kill -TERM -- "-$lane" 2>/dev/null || true # it may have ended
	done
	wait
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# What runs at the same time: one lane beside the other, each one study at a time.
first="nginx go-failsafe"
second="haproxy node-opossum python-tenacity"

wanted=" ${*:-$first $second} "
for example in $wanted; do
	case " $first $second " in
	*" $example "*) ;;
	*)
		echo "check.sh: no example $example to run: expected some of $first $second" >&2
		exit 2
		;;
	esac
done

# package installs Debian packages, if this user may.
package() {
	[ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null || return 1
	if [ ! -e "$work/updated" ]; then
		apt-get update -qq && : >"$work/updated"
	fi
	apt-get install -y -qq --no-install-recommends "$@"
}

# Each prepares its example, and fails if it cannot.
prepare_nginx() { command -v nginx || package nginx; }
prepare_haproxy() { command -v haproxy || package haproxy; }
prepare_go-failsafe() { go build -o service .; }
prepare_node-opossum() {
	{ command -v node && command -v npm; } || package nodejs npm || return 1
	node -e 'process.exit(parseInt(process.versions.node) >= 18 ? 0 : 1)' && npm ci --no-audit --no-fund
}
prepare_python-tenacity() {
	local python
	python=$(tenacious) || { package python3-venv python3-tenacity && python=$(tenacious); } || python=python3
	"$python" -m venv --system-site-packages .venv || return 1
	.venv/bin/pip install -r requirements.txt || .venv/bin/python -c 'import tenacity'
}

# tenacious prints the first Python that has tenacity: one may hide Debian's.
tenacious() {
	local python
	for python in $(type -aP python3); do
		if "$python" -c 'import ensurepip, tenacity' 2>/dev/null; then
			echo "$python"
			return
		fi
	done
	return 1
}

# run runs one study, and once more if it does not hold: what else a machine has
# to do can cost a service its 300 ms. What it says is printed at its end, at once.
run() {
	local name=$1 file=$2 try status=0
	for try in 1 2; do
		status=0
		"$BRUNT" run "$file" --rows none --out "$work/results/$name-$try" >"$work/$name.txt" 2>"$work/$name.log" || status=$?
		say "$name" "$try" "$status" >"$work/$name.said"
		cat "$work/$name.said"
		case $status in 1 | 3) ;; *) break ;; esac
	done
	echo "$status" >"$work/$name.status"
}

# say says how a run of a study went.
say() {
	local name=$1 try=$2 status=$3
	case $status$try in
	0?) echo "ok       $name" ;;
	[13]1) echo "AGAIN    $name: exit status $status" ;;
	*) echo "FAILED   $name: exit status $status" ;;
	esac
	if [ "$status" -ne 0 ]; then
		sed -n '/^FINDINGS/,/^WHAT CALLERS SEE/p; /^EXPECTATIONS/,/^GATES/p' "$work/$name.txt" | sed '/^WHAT CALLERS SEE/d; /^GATES/d'
		tail -n 2 "$work/$name.log"
	fi
	if [ -e "$work/results/$name-$try/result.json" ]; then
		"$BRUNT" report "$work/results/$name-$try" --format csv |
			awk -F, '$4 == "attempts/offered" && $3 != "whole" { printf "         %-9s %-9s %.3f attempts a request\n", $2, $3, $5 }' || true
	fi
}

lane() {
	local example file
	for example in "$@"; do
		case "$wanted" in *" $example "*) ;; *) continue ;; esac
		if [ -e "$work/$example.skipped" ]; then continue; fi
		for file in "$work/$example"/*.yaml; do
			run "$example-$(basename "$file" .yaml)" "$file"
		done
	done
}

if [ -z "${BRUNT:-}" ]; then
	(cd "$here/../.." && CGO_ENABLED=0 go build -o "$work/brunt" ./cmd/brunt)
	BRUNT=$work/brunt
fi

# In copies, so that nothing is left behind here; one at a time, as installers lock.
for example in $wanted; do
	cp -R "$here/$example" "$work/$example"
	rm -rf "$work/$example/node_modules" "$work/$example/.venv"
	if ! (cd "$work/$example" && "prepare_$example") >"$work/$example.prepared" 2>&1; then
		: >"$work/$example.skipped"
		echo "SKIPPED  $example: what it needs is not here, and could not be installed:"
		tail -n 3 "$work/$example.prepared"
	fi
done

set -m # a group for each lane, to end it by
for lane in "$first" "$second"; do
	# shellcheck disable=SC2086 # a list of names
	lane $lane &
	lanes+=("$!")
done
for lane in "${lanes[@]}"; do wait "$lane"; done
lanes=()

passed=0 failed=0 skipped=0
for status in "$work"/*.status; do
	[ -e "$status" ] || continue
	if [ "$(cat "$status")" -eq 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done
for example in "$work"/*.skipped; do
	[ -e "$example" ] && skipped=$((skipped + 1))
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] || exit 1
[ "$skipped" -eq 0 ] || exit 3
