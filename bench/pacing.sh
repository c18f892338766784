#!/usr/bin/env bash
# Compares brunt with vegeta on this machine: how late requests arrive, what one
# costs, and up to which rate both hold. The two take turns, against one server
# that knows neither. See docs/pacing.md for what is measured, and how to read it.
#
#   bench/pacing.sh             lateness and CPU at 1,000, 5,000 and 10,000/s, then the knee, then memory
#   bench/pacing.sh rates       the first alone; knee, memory: the others
#
# RATES, PAIRS (5), SECONDS_EACH (5), KNEES, OUT (a folder that is kept), BRUNT (one that is built already).
# Binding to processors is left to the caller: taskset -c 0,1 bench/pacing.sh
set -euo pipefail
cd "$(dirname "$0")/.."

what=${1:-all}
rates=${RATES:-1000 5000 10000}
pairs=${PAIRS:-5}
seconds=${SECONDS_EACH:-5}
knees=${KNEES:-8000 10000 12500 16000 20000 25000 31000 40000}
out=${OUT:-$(mktemp -d)}
mkdir -p "$out"
target=127.0.0.1:18480
control=127.0.0.1:18481

if [[ -n ${BRUNT:-} ]]; then cp "$BRUNT" "$out/brunt"; else go build -o "$out/brunt" ./cmd/brunt; fi
(cd bench && go build -o "$out/" ./receiver ./timed github.com/tsenart/vegeta/v12)

ulimit -n "$(ulimit -Hn)"
"$out/receiver" $target $control & receiver=$!
trap 'kill $receiver; [[ -n ${OUT:-} ]] || rm -rf "$out"' EXIT
echo "GET http://$target/" >"$out/targets"

ask() { curl -sS --retry 20 --retry-connrefused --retry-delay 1 "$@"; }
ask "http://$control/report?rate=1" >/dev/null

# one TOOL RATE SECONDS: a run, as one line of
# tool rate requests lateness_p50 p99 max cpu_us/request memory_kib p99_latency_ms
one() {
	ask -X POST "http://$control/reset"
	case $1 in
	vegeta)
		"$out/timed" "$out/vegeta" attack -targets "$out/targets" -rate "$2" -duration "${3}s" -output "$out/vegeta.bin" 2>"$out/took"
		;;
	brunt)
		cat >"$out/study.yaml" <<-STUDY
			study: pacing
			question: How late do requests arrive, and what does one cost?
			clock: real
			load: {rate: $2/s, max_in_flight: 1000000}
			horizon: 10s
			target: {kind: http, url: "http://$target/"}
			phases: [{name: steady, for: ${3}s}]
			compositions: {plain: [{call: target}]}
			gates: reported
		STUDY
		rm -rf "$out/run"
		"$out/timed" "$out/brunt" run "$out/study.yaml" --out "$out/run" >"$out/report.txt" 2>"$out/took"
		;;
	esac
	read -r n _ p50 p99 max _ < <(ask "http://$control/report?rate=$2")
	read -r cpu memory _ < <(tail -n 1 "$out/took")
	case $1 in
	vegeta) latency=$("$out/vegeta" report -type=json "$out/vegeta.bin" | tr ',' '\n' | awk -F: '/"99th"/ {printf "%.3f", $2 / 1e6}') ;;
	brunt) latency=$(sed -n 's/.*"submitted": {.*"p99": \([0-9.]*\).*/\1/p' "$out/run/result.json" | head -n 1) ;;
	esac
	echo "$1 $2 $n $p50 $p99 $max $(awk "BEGIN {printf \"%.2f\", $cpu / ($n > 0 ? $n : 1)}") $memory ${latency:-0}"
}

# median COLUMN: of the lines that come
median() { awk -v c="$1" '{print $c}' | sort -g | awk '{a[NR] = $1} END {print NR ? (a[int((NR + 1) / 2)] + a[int(NR / 2) + 1]) / 2 : 0}'; }

# said TOOL RATE FILE COLUMN
said() { awk -v t="$1" -v r="$2" '$1 == t && $2 == r' "$3" | median "$4"; }

ratio() { awk "BEGIN {printf \"%.2f\", $2 > 0 ? $1 / $2 : 0}"; }

# fixed TOOL: CPU microseconds of a run of ten requests: reading, reports, the end
fixed() { for _ in 1 2 3; do one "$1" 10 1 | awk '{print $7 * $3}'; done | median 1; }

machine() { echo "# $(date -u +%F) $(uname -sr) $(nproc) processors, load$(sed 's/.*average: */ /' < <(uptime)), $(cd bench && go list -m github.com/tsenart/vegeta/v12), $(go version | cut -d' ' -f3)"; }

judge_rates() {
	echo "# fixed CPU of a run, ms: brunt $(fixed brunt | awk '{print $1 / 1000}'), vegeta $(fixed vegeta | awk '{print $1 / 1000}')"
	: >"$out/rates.txt"
	for rate in $rates; do
		for ((i = 0; i < pairs; i++)); do
			one vegeta "$rate" "$seconds" | tee -a "$out/rates.txt" >&2
			one brunt "$rate" "$seconds" | tee -a "$out/rates.txt" >&2
		done
	done
	echo "rate     lateness p99 ms (brunt vegeta ratio)   lateness p50 ms   CPU us/request (brunt vegeta ratio)   own p99 latency ms   medians of $pairs pairs"
	for rate in $rates; do
		b=$(said brunt "$rate" "$out/rates.txt" 5) v=$(said vegeta "$rate" "$out/rates.txt" 5)
		cb=$(said brunt "$rate" "$out/rates.txt" 7) cv=$(said vegeta "$rate" "$out/rates.txt" 7)
		printf '%-8s %9s %9s %6s   %9s %9s   %9s %9s %6s   %9s %9s\n' "$rate" "$b" "$v" "$(ratio "$b" "$v")" \
			"$(said brunt "$rate" "$out/rates.txt" 4)" "$(said vegeta "$rate" "$out/rates.txt" 4)" \
			"$cb" "$cv" "$(ratio "$cb" "$cv")" "$(said brunt "$rate" "$out/rates.txt" 9)" "$(said vegeta "$rate" "$out/rates.txt" 9)"
	done
}

# The knee is the highest rate up to which the p99 stays below 5 ms, as the
# median of three runs, and everything arrives. A tool is done at its second miss.
judge_knee() {
	: >"$out/knee.txt"
	declare -A misses=([brunt]=0 [vegeta]=0) knee=([brunt]=0 [vegeta]=0)
	for rate in $knees; do
		for i in 1 2 3; do
			for tool in vegeta brunt; do
				((misses[$tool] >= 2)) || one $tool "$rate" 3 | tee -a "$out/knee.txt" >&2
			done
		done
		for tool in vegeta brunt; do
			((misses[$tool] >= 2)) && continue
			if awk "BEGIN {exit !($(said $tool "$rate" "$out/knee.txt" 5) < 5 && $(said $tool "$rate" "$out/knee.txt" 9) < 5 && $(said $tool "$rate" "$out/knee.txt" 3) > 0.99 * 3 * $rate)}"; then
				knee[$tool]=$rate
			else
				misses[$tool]=$((misses[$tool] + 1))
			fi
		done
	done
	echo "knee, requests/s (lateness and own latency p99 < 5 ms): brunt ${knee[brunt]}, vegeta ${knee[vegeta]}, ratio $(ratio "${knee[brunt]}" "${knee[vegeta]}")"
}

judge_memory() {
	for length in 10 100; do
		one brunt 10000 $length | awk '{printf "memory after %d requests: %.1f MiB\n", $3, $8 / 1024}'
	done
}

machine
case $what in
rates) judge_rates ;;
knee) judge_knee ;;
memory) judge_memory ;;
all) judge_rates && judge_knee && judge_memory ;;
*) echo "pacing.sh: expected rates, knee, memory or nothing" >&2 && exit 2 ;;
esac
