#!/bin/sh
# Ground truth over a wire: sends calls with every impairment over a veth pair, records them live with ringtap at the other end, and
# compares the records with the truth. Creates two network namespaces and removes them again. Needs root.
#
#   bench/live-truth.sh [CALLS [RATE]]
#       RINGTAP=path      the program [default: target/release/ringtap]
#       MONITOR=live|run  `ringtap live --records`, or the daemon with its database
#       VIA=packet|xdp    how frames are sent
#       WITHIN=MS         tolerance of times [default: 5], because a busy machine is late now and then
#
# The exit status is 0 if every call, stream and registration was recorded once, with every field equal.
set -eu
calls=${1:-5000}
rate=${2:-50}
here=$(cd "$(dirname "$0")/.." && pwd)
ringtap=${RINGTAP:-${CARGO_TARGET_DIR:-$here/target}/release/ringtap}
[ -x "$ringtap" ] || { echo "$ringtap is not there: cargo build --release -p ringtap, or set RINGTAP" >&2; exit 2; }
[ "$(id -u)" = 0 ] || { echo "skipped: network namespaces need root" >&2; exit 77; }
from=rt$$a
to=rt$$b
monitor=
folder=$(mktemp -d "${TMPDIR:-/tmp}/ringtap-truth.XXXXXX")
clean() {
    [ -z "$monitor" ] || kill -TERM "$monitor" 2>/dev/null || true
    ip netns del "$from" 2>/dev/null || true
    ip netns del "$to" 2>/dev/null || true
    rm -rf "$folder"
}
trap clean EXIT
trap 'exit 130' INT TERM
ip netns add "$from" 2>/dev/null || { echo "skipped: cannot make a network namespace" >&2; exit 77; }
ip netns add "$to"
ip link add "$from" netns "$from" type veth peer name "$to" netns "$to"
for end in "$from" "$to"; do
    # Only generated frames: no neighbour discovery; and room for a VLAN tag.
    ip netns exec "$end" sysctl -qw "net.ipv6.conf.$end.disable_ipv6=1" 2>/dev/null || true
    ip -n "$end" link set "$end" mtu 1600 up
done

case ${MONITOR:-live} in
live) ip netns exec "$to" "$ringtap" live --records -i "$to" >"$folder/found.jsonl" 2>"$folder/log" & ;;
run)
    printf '[capture]\ninterfaces = ["%s"]\n[store]\ndirectory = "%s/records"\n[metrics]\nlisten = ""\n' "$to" "$folder" >"$folder/ringtap.toml"
    ip netns exec "$to" "$ringtap" run -c "$folder/ringtap.toml" >"$folder/log" 2>&1 &
    ;;
*) echo "MONITOR is live or run" >&2; exit 2 ;;
esac
monitor=$!
sleep 2
kill -0 "$monitor" 2>/dev/null || { cat "$folder/log" >&2; exit 1; }
ip netns exec "$from" "$ringtap" generate --interface "$from" --via "${VIA:-packet}" --truth "$folder/truth.jsonl" \
    --impair all --calls "$calls" --rate "$rate" --hold-distribution lognormal:10,0.7
sleep 2
# SIGINT for `live`, SIGTERM as from systemd for `run`.
if [ "${MONITOR:-live}" = run ]; then kill -TERM "$monitor"; else kill -INT "$monitor"; fi
wait "$monitor" || true
monitor=
tail -n 3 "$folder/log"
if [ "${MONITOR:-live}" = run ]; then
    for records in calls streams registrations; do
        "$ringtap" "$records" --store "$folder/records" --limit 0 --format jsonl
    done >"$folder/found.jsonl"
fi
"$ringtap" compare --truth "$folder/truth.jsonl" --within "${WITHIN:-5}" "$folder/found.jsonl"
