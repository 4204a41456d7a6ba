#!/bin/sh
# Ground truth: generates a capture of calls with every impairment, analyses it, and compares the records with the truth.
#
#   bench/truth.sh [CALLS [SEED]]        RINGTAP=path of the program [default: target/release/ringtap]
#
# The exit status is 0 if every call, stream and registration was found once, with every field equal.
set -eu
calls=${1:-5000}
seed=${2:-1}
here=$(cd "$(dirname "$0")/.." && pwd)
ringtap=${RINGTAP:-${CARGO_TARGET_DIR:-$here/target}/release/ringtap}
[ -x "$ringtap" ] || { echo "$ringtap is not there: cargo build --release -p ringtap, or set RINGTAP" >&2; exit 2; }
folder=$(mktemp -d "${TMPDIR:-/tmp}/ringtap-truth.XXXXXX")
trap 'rm -rf "$folder"' EXIT INT TERM

"$ringtap" generate --out "$folder/traffic.pcap" --truth "$folder/truth.jsonl" --impair all --cross 20M \
    --calls "$calls" --rate 50 --hold-distribution lognormal:20,1 --seed "$seed"
tail -n 1 "$folder/truth.jsonl"
"$ringtap" analyze --format jsonl "$folder/traffic.pcap" >"$folder/found.jsonl"
"$ringtap" compare --truth "$folder/truth.jsonl" "$folder/found.jsonl"
